// Follows a running debate over server-sent events. The page works without it: this script only appends streamed text (by
// markdown.js) and fetches parts rendered by the server when a turn or a round ends.
(() => {
  const page = document.querySelector("main[data-events]");
  if (!page || !window.EventSource) return;
  const transcript = document.getElementById("transcript");
  const status = document.getElementById("status");
  const baseUrl = page.dataset.page;
  const seatTemplates = new Map(
    [...document.querySelectorAll("template[data-seat]")].map((template) => [template.dataset.seat, template]),
  );
  const seatOrder = [...seatTemplates.keys()];
  const speaking = new Map(); // Step to seat, for turns in progress.
  const writing = new Set(); // Steps whose text has begun.
  const retrying = new Map(); // Step to what is wrong, until text comes again.
  let source = null;
  let isOver = false;

  const cloneTemplate = (template) => template.content.firstElementChild.cloneNode(true);
  const seatTitle = (seat) => seatTemplates.get(seat)?.dataset.title ?? seat ?? "";
  const setStatus = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };
  const isPausing = () => status.hasAttribute("data-pausing");

  // A pending pause is more important than who is thinking.
  const showSpeakers = () => {
    if (isPausing()) return;
    const names = [...new Set(speaking.values())].map(seatTitle);
    if (names.length === 0) return;
    const subject = names.length > 3 ? `${names.length} seats` : names.join(", ");
    const steps = [...speaking.keys()];
    let verb = "thinking";
    if (steps.every((step) => retrying.has(step))) verb = "retrying";
    else if (steps.every((step) => writing.has(step))) verb = "writing";
    setStatus(`${subject} ${names.length > 1 ? "are" : "is"} ${verb}`);
  };

  // Follows the end of the transcript if the reader is there, and leaves the scroll position alone otherwise.
  const withScrollAnchor = (change) => {
    const bottom = transcript.getBoundingClientRect().bottom;
    const isAtEnd = bottom > 0 && bottom < window.innerHeight + 40 && bottom > window.innerHeight - 260;
    change();
    if (!isAtEnd) return;
    const growth = transcript.getBoundingClientRect().bottom - bottom;
    if (growth > 0 && bottom + growth > window.innerHeight - 90) {
      window.scrollBy({ top: growth, behavior: "instant" });
    }
  };

  const findOrAddRound = (step) => {
    const key = step.split("/")[0];
    const existing = document.getElementById(key);
    if (existing) return existing;
    const section = cloneTemplate(document.getElementById("round-template"));
    const heading = section.querySelector("h2");
    section.id = key;
    heading.id = `${key}-title`;
    const number = /^r(\d+)$/.exec(key);
    if (key === "r0") heading.textContent = "Blind vote";
    else heading.textContent = number ? `Round ${number[1]}` : key.charAt(0).toUpperCase() + key.slice(1);
    // The blind vote may run beside the first round, and belongs before it.
    if (key === "r0") transcript.prepend(section);
    else transcript.append(section);
    return section;
  };

  const turnsOf = (round) => round.querySelector(".turns") ?? round;

  // The turn in progress, or null if it has ended or its seat is unknown.
  const findOrAddTurn = (step, seat) => {
    const existing = document.getElementById(step);
    if (existing) return existing.classList.contains("speaking") ? existing : null;
    const template = seatTemplates.get(seat);
    if (!template) return null;
    const turn = cloneTemplate(template);
    turn.id = step;
    withScrollAnchor(() => {
      const round = findOrAddRound(step);
      turnsOf(round).append(turn);
      // Seats that speak at the same time are shown side by side.
      if (round.querySelectorAll(".speaking").length > 1) round.classList.add("parallel");
    });
    return turn;
  };

  // Turns are ordered by start time, then by seat. A page that was opened late sees them in the order in which they end.
  const seatIndex = (turn) => seatOrder.indexOf(turn.id.split("/")[1]);
  const compareTurns = (a, b) => a.dataset.began - b.dataset.began || seatIndex(a) - seatIndex(b);
  const moveIntoOrder = (turn) => {
    const turns = [...turn.parentElement.querySelectorAll(":scope > [data-began]")];
    const index = turns.indexOf(turn);
    const later = turns.slice(0, index).find((other) => compareTurns(other, turn) > 0);
    const earlier = turns.slice(index + 1).findLast((other) => compareTurns(other, turn) < 0);
    if (later) later.before(turn);
    else if (earlier) earlier.after(turn);
  };

  const renderers = new WeakMap();
  const rendererOf = (node) => {
    if (!renderers.has(node)) renderers.set(node, streamMarkdown(node));
    return renderers.get(node);
  };

  // Text arrives in many small chunks; it is appended once per animation frame.
  const pendingText = new Map();
  let frame = 0;
  const flushText = () => {
    frame = 0;
    withScrollAnchor(() => {
      for (const [node, text] of pendingText) rendererOf(node).append(text);
      pendingText.clear();
    });
  };
  const appendText = (node, text) => {
    pendingText.set(node, (pendingText.get(node) ?? "") + text);
    if (!frame) frame = requestAnimationFrame(flushText);
  };

  const fetchFragment = async (path) => {
    const response = await fetch(path, { headers: { accept: "text/html" }, credentials: "same-origin" });
    if (!response.ok) throw new Error(String(response.status));
    const template = document.createElement("template");
    template.innerHTML = await response.text(); // Rendered and sanitised by the server; scripts in it would not run.
    return template.content;
  };

  // Replaces the streamed text of an ended turn by the turn as the server renders it.
  const finishTurn = async (step) => {
    speaking.delete(step);
    writing.delete(step);
    retrying.delete(step);
    if (frame) {
      cancelAnimationFrame(frame);
      flushText();
    }
    try {
      const path = step.split("/").map(encodeURIComponent).join("/");
      const turn = (await fetchFragment(`${baseUrl}/turns/${path}`)).firstElementChild;
      if (!turn) return;
      const streamed = document.getElementById(step);
      withScrollAnchor(() => {
        if (streamed) streamed.replaceWith(turn);
        else turnsOf(findOrAddRound(step)).append(turn);
        moveIntoOrder(turn);
      });
    } catch { /* The streamed text stays; a reload brings the rendered turn. */ }
  };

  const refreshStatus = (fresh) => {
    // The element stays and only its text changes, so that screen readers do not announce it twice.
    status.className = fresh.className;
    status.toggleAttribute("data-pausing", fresh.hasAttribute("data-pausing"));
    if (isOver || speaking.size === 0 || isPausing()) setStatus(fresh.textContent);
  };

  // An unchanged part stays, with whatever the user has typed or opened in it.
  const refreshPart = (fresh) => {
    const old = document.getElementById(fresh.id);
    if (!old || old.outerHTML === fresh.outerHTML) return;
    const oldInput = old.querySelector("input[name=text]");
    const hadFocus = oldInput !== null && oldInput === document.activeElement;
    for (const opened of [old, ...old.querySelectorAll("details[id]")]) {
      if (!opened.open) continue;
      const same = opened === old ? fresh : fresh.querySelector(`#${CSS.escape(opened.id)}`);
      if (same) same.open = true;
    }
    withScrollAnchor(() => old.replaceWith(fresh));
    const newInput = fresh.querySelector("input[name=text]");
    if (!oldInput || !newInput) return;
    newInput.value = oldInput.value;
    if (hadFocus) newInput.focus();
  };

  // Rounds that began after the page was loaded get the figures of the timeline.
  const labelRounds = () => {
    for (const link of document.querySelectorAll("#timeline a")) {
      const summary = document.getElementById(link.hash.slice(1))?.querySelector(":scope > summary");
      if (!summary) continue;
      let small = summary.querySelector(":scope > small");
      if (!small) {
        small = document.createElement("small");
        summary.append(" ", small);
      }
      small.textContent = link.nextElementSibling?.textContent ?? "";
    }
  };

  // One refresh at a time, and one more if something happened meanwhile. Ends when the page is up to date.
  let refreshing = null;
  let needsRefresh = false;
  const refreshAll = async () => {
    do {
      needsRefresh = false;
      try {
        const content = await fetchFragment(`${baseUrl}/panels`);
        for (const part of [...content.children]) {
          if (part.id === "status") refreshStatus(part);
          else refreshPart(part);
        }
      } catch { /* The next refresh catches up. */ }
      labelRounds();
      showSpeakers();
    } while (needsRefresh);
    refreshing = null;
  };
  const refresh = () => {
    if (refreshing) needsRefresh = true;
    else refreshing = refreshAll();
    return refreshing;
  };

  const finishDebate = async () => {
    isOver = true;
    source.close();
    await refresh();
    document.getElementById("discussion").classList.remove("running");
    document.getElementById("announce").textContent = "The debate is over. The answer is at the top of the page.";
    document.title = document.title.replace(/^● /, "✓ ");
    document.dispatchEvent(new Event("debate-over"));
  };

  const startRound = (round, epithet) => {
    const heading = findOrAddRound(`r${round}/`).querySelector("h2");
    if (!epithet || heading.querySelector("small")) return;
    const small = document.createElement("small");
    small.textContent = epithet;
    heading.append(" ", small);
  };

  const addUserMessage = (text) => {
    const turn = cloneTemplate(document.getElementById("user-turn-template"));
    turn.querySelector(".prose").textContent = text;
    const rounds = transcript.querySelectorAll(":scope > .round");
    turnsOf(rounds[rounds.length - 1] ?? findOrAddRound("r1/")).append(turn);
  };

  // Says in the turn why the seat is asked again, until it answers.
  const showRetry = (turn, step, seat, reason) => {
    retrying.set(step, reason);
    writing.delete(step);
    let note = turn.querySelector(".retry");
    if (!note) {
      note = document.createElement("p");
      note.className = "retry note mid";
      turn.querySelector(".streaming").before(note);
    }
    note.textContent = `${seatTitle(seat)}: ${reason}`;
  };
  const hideRetry = (turn, step) => {
    if (retrying.delete(step)) turn.querySelector(".retry")?.remove();
  };

  const handleTurnEvent = (kind, step, seat, text) => {
    if (kind === "end" || kind === "absent") {
      finishTurn(step).then(showSpeakers);
      refresh();
      return;
    }
    if (!["start", "chunk", "restart"].includes(kind)) return;
    const turn = findOrAddTurn(step, seat);
    const isNew = !speaking.has(step);
    if (kind === "start" || (kind === "chunk" && turn && isNew)) {
      speaking.set(step, seat);
      showSpeakers();
    }
    if (!turn) return;
    const prose = turn.querySelector(".streaming");
    if (kind === "chunk") {
      withScrollAnchor(() => hideRetry(turn, step));
      appendText(prose, text);
      if (!writing.has(step)) {
        writing.add(step);
        showSpeakers();
      }
    }
    if (kind === "restart") {
      pendingText.delete(prose);
      withScrollAnchor(() => {
        rendererOf(prose).clear();
        showRetry(turn, step, seat, text);
      });
      showSpeakers();
    }
  };

  const handleEvent = (message) => {
    const { event, round, content, metadata } = JSON.parse(message.data);
    const { step, role, tokens_so_far: tokens, reason } = metadata;
    if (tokens) {
      for (const node of document.querySelectorAll("[data-live=tokens]")) node.textContent = tokens.toLocaleString("en-US");
    }
    if (event === "complete") return void finishDebate();
    if (event === "round_start") {
      withScrollAnchor(() => startRound(round, content));
      return void refresh();
    }
    if (event === "user_input") withScrollAnchor(() => addUserMessage(content));
    if (!step) return void refresh();
    const kind = event.slice(event.lastIndexOf("_") + 1);
    // The reason in words for people, not in those of the model or the provider.
    handleTurnEvent(kind, step, role, kind === "restart" ? reason ?? content : content);
  };

  const eventNames = ["round_start", "complete", "user_input", "decision_needed", "decision", "reopened"];
  for (const seat of [...seatOrder, "synthesis"]) {
    for (const kind of ["start", "chunk", "restart", "end", "absent"]) eventNames.push(`${seat}_${kind}`);
  }
  source = new EventSource(`${page.dataset.events}?after=${encodeURIComponent(page.dataset.seq)}`);
  for (const name of eventNames) source.addEventListener(name, handleEvent);
  source.onmessage = handleEvent;
  source.onerror = () => { if (!isOver) setStatus("Reconnecting…"); };
  source.onopen = () => {
    if (isPausing()) refresh();
    else showSpeakers();
  };
  document.title = `● ${document.title}`;
})();
