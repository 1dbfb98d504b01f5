import os

from hypothesis import HealthCheck, settings

# A slow machine is no failure, and one example of the law runs a stream some hundred times.
settings.register_profile(
    "untorn",
    deadline=None,
    max_examples=int(os.environ.get("UNTORN_EXAMPLES", "30")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untorn")
