// The start form without page loads: estimates in place, files by drop, and Ctrl+Enter. The form works without it.
"use strict";
(() => {
  const form = document.getElementById("start");
  if (!form) return;
  const question = document.getElementById("question");
  const files = document.getElementById("files");
  const estimate = document.getElementById("estimate");
  const button = form.querySelector("[formaction]");

  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });

  // One debate per click, however often the button is pressed.
  let isSent = false;
  form.addEventListener("submit", (event) => {
    if (event.submitter === button) {
      event.preventDefault();
      showEstimate();
    } else if (isSent) {
      event.preventDefault();
    } else {
      isSent = true;
    }
  });
  window.addEventListener("pageshow", () => { isSent = false; });

  // The server renders the form again; of that only the estimate or the problems are taken.
  let latest = 0;
  let wasAsked = false;
  const showEstimate = async () => {
    wasAsked = true;
    const number = ++latest;
    estimate.textContent = "Estimating…";
    let text = "The estimate could not be loaded.";
    try {
      const response = await fetch(button.formAction, {
        method: "POST",
        body: new FormData(form),
        headers: { accept: "text/html" },
        credentials: "same-origin",
      });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.getElementById("estimate")?.textContent.trim() || page.querySelector(".problem")?.textContent.trim();
      if (found) text = found;
    } catch { /* The text says so. */ }
    if (number === latest) estimate.textContent = text;
  };
  let timer = 0;
  form.addEventListener("input", () => {
    if (!wasAsked) return;
    clearTimeout(timer);
    timer = setTimeout(showEstimate, 800);
  });

  const showDrop = (is) => form.classList.toggle("dropping", is);
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  form.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    showDrop(true);
  });
  form.addEventListener("dragleave", (event) => {
    if (!form.contains(event.relatedTarget)) showDrop(false);
  });
  form.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    showDrop(false);
    const all = new DataTransfer();
    for (const file of [...files.files, ...event.dataTransfer.files]) all.items.add(file);
    files.files = all.files;
    form.querySelector(".options").open = true;
    files.dispatchEvent(new Event("input", { bubbles: true }));
  });

  // An example fills the box without a page load.
  form.addEventListener("click", (event) => {
    const link = event.target.closest(".examples a");
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    question.value = new URL(link.href).searchParams.get("question");
    question.focus();
    question.dispatchEvent(new Event("input", { bubbles: true }));
  });
})();
