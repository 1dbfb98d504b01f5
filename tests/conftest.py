import os
import signal

from hypothesis import HealthCheck, settings

# A slow machine is no failure, and one example of the law runs a stream some hundred times.
settings.register_profile(
    "untorn",
    deadline=None,
    max_examples=int(os.environ.get("UNTORN_EXAMPLES", "30")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untorn")

# A shell's job in the background ignores Ctrl-C, and passes that on to the programs
# that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
