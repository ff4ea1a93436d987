"use strict";
(() => {
  const form = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const rows = [...document.querySelectorAll("#index tbody tr")].map((row) => {
    const anchor = row.querySelector("a").getAttribute("href").slice(1);
    const section = document.getElementById(anchor);
    const said = [...row.cells, ...section.querySelectorAll(".place, .statement, .said dt, .said dd")];
    return { row, section, text: said.map((part) => part.textContent).join(" ").toLowerCase() };
  });
  const none = document.getElementById("none");
  const table = document.getElementById("index");
  const names = ["paper", "verdict", "gravity"];
  const fields = [...names, "near", "text"].filter((name) => form.elements[name]);
  const isNear = ({ dataset }, chosen) => !chosen || Number(dataset.near ?? -1) >= Number(chosen);
  /* A word is looked for where words begin: short ones as they stand, long ones without their ending. */
  const begins = (word) => {
    const stem = word.length > 5 ? word.replace(/(ing|ed|es|e|s)$/, "") : word;
    const end = /^[a-z]{1,3}$/.test(word) ? "(?![\\p{L}\\p{Nd}])" : "";
    const start = /^[\p{L}\p{N}]/u.test(word) ? "(?<![\\p{L}\\p{N}])" : "";
    return new RegExp(`${start}${stem.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&")}${end}`, "u");
  };
  const lower = (text) => text.trim().toLowerCase();
  let doubts = [];

  /* The view is what the address says: the filter is its query, and the claim behind its # is shown in any case. */
  function read() {
    doubts = [];
    for (const name of fields) form.elements[name].value = "";
    for (const [name, value] of new URLSearchParams(location.search)) {
      if (name === "text") {
        form.elements.text.value = value;
      } else if (fields.includes(name)) {
        const meant = (option) => [option.value, option.text].some((word) => lower(word) === lower(value));
        const option = [...form.elements[name].options].find(meant);
        if (option) form.elements[name].value = option.value;
        else doubts.push(`unknown ${name}: ${value}; showing all`);
      } else {
        doubts.push(`unknown filter: ${name}; not applied`);
      }
    }
    apply();
  }

  function followed() {
    let anchor = location.hash.slice(1);
    try {
      anchor = decodeURIComponent(anchor);
    } catch { /* no address of ours: as it stands */ }
    return document.getElementById(anchor);
  }

  function apply() {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean).map(begins);
    const target = followed();
    let count = 0, beside = "";
    for (const { row, section, text } of rows) {
      const fits = names.every((name) => [row.dataset[name], ""].includes(form.elements[name].value))
        && isNear(row, form.elements.near?.value) && words.every((word) => word.test(text));
      const asked = !fits && section.contains(target);
      if (asked) beside = row.querySelector("a").textContent;
      row.hidden = section.hidden = !fits && !asked;
      count += fits;
    }
    none.hidden = count > 0;
    table.hidden = count === 0 && !beside;
    const said = [`${count} of ${rows.length} statements`, beside && `beside them ${beside}, which was followed`, ...doubts];
    shown.textContent = said.filter(Boolean).join("; ");
    return beside;
  }

  /* What is typed goes into the address; a # that leads out of the filter goes. */
  function write() {
    doubts = [];
    const chosen = new URLSearchParams();
    for (const name of fields) {
      const value = form.elements[name].value;
      if (lower(value)) chosen.set(name, value);
    }
    const query = `${chosen}` ? `?${chosen}` : location.pathname;
    const remember = (hash) => {
      try {
        history.replaceState(history.state, "", query + hash);
      } catch { /* a browser may refuse: too often, or of a file */ }
    };
    remember(location.hash);
    if (apply()) {
      remember("");
      apply();
    }
  }

  function follow() {
    const target = followed();
    const wasHidden = target?.closest("[hidden]");
    read();
    if (wasHidden && target.checkVisibility()) target.scrollIntoView();
  }

  form.hidden = false;
  form.addEventListener("input", write);
  form.addEventListener("change", write);
  form.addEventListener("reset", () => setTimeout(write));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
  follow();

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
