"use strict";
(() => {
  const form = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const rows = [...document.querySelectorAll("#index tbody tr")].map((row) => {
    const anchor = row.querySelector("a").getAttribute("href").slice(1);
    const section = document.getElementById(anchor);
    const said = [row, section.querySelector(".statement"), section.querySelector(".said")];
    return { row, section, text: said.map((part) => part?.textContent ?? "").join(" ").toLowerCase() };
  });
  const names = ["paper", "verdict", "gravity"];

  function apply() {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { row, section, text } of rows) {
      const fits = names.every((name) => [row.dataset[name], ""].includes(form.elements[name].value))
        && words.every((word) => text.includes(word));
      row.hidden = section.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${rows.length} statements`;
  }

  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.closest("[hidden]")) {
      form.reset();
      apply();
      target.scrollIntoView();
    }
  }

  for (const [name, value] of new URLSearchParams(location.search)) {
    if ([...names, "text"].includes(name)) form.elements[name].value = value;
  }
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", reveal);
  apply();
  reveal();

  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      const label = button.firstChild;
      try {
        await navigator.clipboard.writeText(code.textContent);
        label.data = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        label.data = "Selected";
      }
      setTimeout(() => { label.data = "Copy"; }, 2000);
    });
  }
})();
