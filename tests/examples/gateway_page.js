// Ask as a person does, once of each service, and tell what the page then shows.
const form = document.querySelector("form");
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const post = (path, body) => fetch(path, { method: "POST", body: JSON.stringify(body) });

const shown = {};
for (const name of ["whole", "cut", "refused"]) {
  await post(`/use/${name}`);
  form.elements.question.value = `${name}? & ü`;
  form.requestSubmit();
  do await sleep(20); while (document.querySelector("#status").textContent === "...");
  const answer = document.querySelector("#answer");
  shown[name] = {
    answer: answer.textContent,
    cut: answer.classList.contains("cut"),
    status: document.querySelector("#status").textContent,
  };
}
// EventSource asks again after three seconds, of a page that does not close it.
await sleep(4000);
await post("/results", shown);
