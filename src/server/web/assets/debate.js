// What a debate's page does beyond links and forms: copying, keys, a notification, and print. The page works without it.
"use strict";
(() => {
  const announce = (text) => { document.getElementById("announce").textContent = text; };

  // Only pages from a secure origin have a clipboard; for the others there is the old command.
  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) throw new Error("not copied");
  };
  const copyFrom = async (source) => {
    const label = source.textContent;
    try {
      let text = document.getElementById(source.dataset.copy)?.textContent;
      if (!source.dataset.copy) {
        const response = await fetch(source.href, { credentials: "same-origin" });
        if (!response.ok) throw new Error(String(response.status));
        text = await response.text();
      }
      await copy(text);
      source.textContent = "Copied";
      announce("Copied");
      setTimeout(() => { source.textContent = label; }, 2000);
    } catch {
      // The text opens instead, to be copied by hand.
      if (source.href) location.assign(source.href);
    }
  };
  for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
  document.addEventListener("click", (event) => {
    const source = event.target.closest("[data-copy]");
    if (!source || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    copyFrom(source);
  });

  // A menu closes when another part of the page is used.
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll(".menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  const topOf = (round) => round.getBoundingClientRect().top;
  const goToRound = (direction) => {
    const rounds = [...document.querySelectorAll("#transcript > .round")];
    const edge = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
    const next = direction > 0
      ? rounds.find((round) => topOf(round) > edge + 8)
      : rounds.findLast((round) => topOf(round) < edge - 8);
    if (!next) return;
    next.scrollIntoView();
    next.querySelector(":scope > summary")?.focus({ preventScroll: true });
  };
  const openExport = () => {
    const menu = document.getElementById("export");
    if (!menu) return;
    menu.open = true;
    menu.scrollIntoView({ block: "nearest" });
    menu.querySelector("a").focus();
  };
  const goToBox = () => {
    const box = document.querySelector("#follow-up textarea, #follow-up input:not([type=hidden]), #text");
    box?.focus();
  };
  const keys = {
    j: () => goToRound(1),
    k: () => goToRound(-1),
    e: openExport,
    f: goToBox,
    "?": () => document.getElementById("keys").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select, [contenteditable], dialog");
    if (event.key === "Escape") {
      for (const menu of document.querySelectorAll(".menu[open]")) menu.open = false;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  // Asked for by a click, never by itself.
  const notify = document.getElementById("notify");
  if (notify && window.Notification && Notification.permission !== "denied") {
    let isWanted = false;
    notify.hidden = false;
    notify.addEventListener("click", async () => {
      isWanted = (await Notification.requestPermission()) === "granted";
      notify.textContent = isWanted ? "You will be notified" : "Notifications are blocked in the browser";
      notify.disabled = true;
    });
    document.addEventListener("debate-over", () => {
      notify.remove();
      if (!isWanted) return;
      const body = document.querySelector("#answer .headline, #answer .short")?.textContent ?? "";
      const notification = new Notification(document.querySelector("h1").textContent, { body: body.trim().slice(0, 200) });
      notification.addEventListener("click", () => window.focus());
    });
  }

  // A prompt is fetched when it is opened.
  const showPrompt = async (part) => {
    const link = part.querySelector("a[href]");
    if (!link || part.dataset.prompt) return;
    part.dataset.prompt = "loading";
    try {
      const response = await fetch(link.href, { headers: { accept: "text/html" }, credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.querySelector(response.ok ? "#prompt" : "main .lead");
      if (!found) throw new Error(String(response.status));
      found.removeAttribute("id");
      link.parentElement.replaceWith(document.importNode(found, true));
      part.dataset.prompt = "shown";
    } catch {
      delete part.dataset.prompt; // The link is still there.
    }
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.matches(".prompt[open]")) showPrompt(event.target);
  }, true);

  // A printed page has everything that the screen folds.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open]):not(.menu, .prompt)")];
    for (const part of folded) part.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const part of folded) part.open = false;
  });
})();
