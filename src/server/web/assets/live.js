// Follows a debate while it runs. The page is whole without it: this only appends what is said, as text and never as markup,
// and fetches parts that the server has rendered when a turn or a round ends.
"use strict";
(() => {
  const page = document.querySelector("main[data-events]");
  if (!page || !window.EventSource) return;
  const talk = document.getElementById("transcript");
  const base = page.dataset.page;
  const seats = new Map([...document.querySelectorAll("template[data-seat]")].map((it) => [it.dataset.seat, it]));
  const speaking = new Map();
  let source = null;
  let over = false;

  const title = (seat) => seats.get(seat)?.dataset.title ?? seat ?? "";
  const say = (words) => {
    const status = document.getElementById("status");
    if (status.textContent !== words) status.textContent = words;
  };

  // Whoever reads at the end stays at the end; whoever reads elsewhere is left there.
  const keepingPlace = (change) => {
    const edge = talk.getBoundingClientRect().bottom;
    const atEnd = edge > 0 && edge < window.innerHeight + 40 && edge > window.innerHeight - 260;
    change();
    if (!atEnd) return;
    const grown = talk.getBoundingClientRect().bottom - edge;
    if (grown > 0 && edge + grown > window.innerHeight - 90) window.scrollBy({ top: grown, behavior: "instant" });
  };

  const roundOf = (step) => {
    const key = step.split("/")[0];
    const known = document.getElementById(key);
    if (known) return known;
    const section = document.getElementById("round-to-be").content.firstElementChild.cloneNode(true);
    const heading = section.querySelector("h2");
    section.id = key;
    heading.id = `${key}-title`;
    section.setAttribute("aria-labelledby", heading.id);
    const number = /^r(\d+)$/.exec(key);
    heading.textContent = number ? `Round ${number[1]}` : key.charAt(0).toUpperCase() + key.slice(1);
    talk.append(section);
    return section;
  };

  const turnOf = (step, seat) => {
    const known = document.getElementById(step);
    if (known) return known.classList.contains("speaking") ? known : null;
    const mould = seats.get(seat);
    if (!mould) return null;
    const turn = mould.content.firstElementChild.cloneNode(true);
    turn.id = step;
    const verb = step.split("/").pop();
    if (verb !== seat) turn.querySelector(".verb").textContent = verb;
    keepingPlace(() => roundOf(step).append(turn));
    return turn;
  };

  // A transcript is in the order in which turns began, and seats that began together in theirs. A page that comes late hears of
  // turns as they end.
  const places = [...seats.keys()];
  const placeOf = (turn) => places.indexOf(turn.id.split("/")[1]);
  const since = (turn, other) => turn.dataset.began - other.dataset.began || placeOf(turn) - placeOf(other);
  const inOrder = (turn) => {
    const ended = [...turn.parentElement.querySelectorAll(":scope > [data-began]")];
    const at = ended.indexOf(turn);
    const later = ended.slice(0, at).find((it) => since(it, turn) > 0);
    const earlier = ended.slice(at + 1).findLast((it) => since(it, turn) < 0);
    if (later) later.before(turn);
    else if (earlier) earlier.after(turn);
  };

  // Text comes in many small pieces; it is put on the page once a frame.
  const waiting = new Map();
  let frame = 0;
  const flush = () => {
    frame = 0;
    keepingPlace(() => {
      for (const [node, text] of waiting) node.append(text);
      waiting.clear();
    });
  };
  const append = (node, text) => {
    waiting.set(node, (waiting.get(node) ?? "") + text);
    if (!frame) frame = requestAnimationFrame(flush);
  };

  const fragment = async (path) => {
    const answer = await fetch(path, { headers: { accept: "text/html" }, credentials: "same-origin" });
    if (!answer.ok) throw new Error(String(answer.status));
    const mould = document.createElement("template");
    mould.innerHTML = await answer.text(); // Rendered and sanitised by the server; scripts in it would not run.
    return mould.content;
  };

  const settle = async (step) => {
    speaking.delete(step);
    if (frame) { cancelAnimationFrame(frame); flush(); }
    try {
      const content = await fragment(`${base}/turns/${step.split("/").map(encodeURIComponent).join("/")}`);
      const turn = content.firstElementChild;
      const old = document.getElementById(step);
      if (!turn) return;
      keepingPlace(() => {
        if (old) old.replaceWith(turn);
        else roundOf(step).append(turn);
        inOrder(turn);
      });
    } catch { /* The text is there; a reload brings the rest. */ }
  };

  // One refresh at a time, and one more if something happened meanwhile.
  let refreshing = false;
  let again = false;
  const refresh = async () => {
    if (refreshing) { again = true; return; }
    refreshing = true;
    try {
      const content = await fragment(`${base}/panels`);
      for (const part of [...content.children]) {
        const old = document.getElementById(part.id);
        if (!old) continue;
        if (part.id === "status") {
          // The same element stays, so that nobody hears it twice.
          old.className = part.className;
          if (over || speaking.size === 0 || part.textContent === pausing) say(part.textContent);
          continue;
        }
        // What is the same stays, with whatever somebody has written or opened in it.
        if (old.outerHTML === part.outerHTML) continue;
        const words = old.querySelector("input[name=text]");
        const isWriting = words !== null && words === document.activeElement;
        keepingPlace(() => old.replaceWith(part));
        const fresh = part.querySelector("input[name=text]");
        if (!words || !fresh) continue;
        fresh.value = words.value;
        if (isWriting) fresh.focus();
      }
    } catch { /* The next one will do. */ }
    refreshing = false;
    thinking();
    if (again) { again = false; refresh(); }
  };

  // That a pause is to come is worth more than who is thinking until then.
  const pausing = "Pausing after this round";
  const thinking = () => {
    if (document.getElementById("status").textContent === pausing) return;
    const who = [...new Set(speaking.values())].map(title);
    if (who.length === 0) return;
    say(who.length > 3 ? `${who.length} seats are thinking` : `${who.join(", ")} ${who.length > 1 ? "are" : "is"} thinking`);
  };

  const finish = async () => {
    over = true;
    source.close();
    await refresh();
    document.getElementById("talk").classList.remove("running");
    document.getElementById("announce").textContent = "The debate is over. The answer is at the top of the page.";
    document.title = document.title.replace(/^● /, "");
  };

  const hear = (message) => {
    const said = JSON.parse(message.data);
    const { step, role, tokens_so_far: tokens } = said.metadata;
    if (tokens) for (const it of document.querySelectorAll("[data-live=tokens]")) it.textContent = tokens.toLocaleString("en-US");
    if (said.event === "complete") return void finish();
    if (said.event === "round_start") {
      keepingPlace(() => {
        const heading = roundOf(`r${said.round}/`).querySelector("h2");
        if (!said.content || heading.querySelector("small")) return;
        const epithet = document.createElement("small");
        epithet.textContent = said.content;
        heading.append(" ", epithet);
      });
      return void refresh();
    }
    if (said.event === "user_input") {
      const voice = document.getElementById("voice-to-be").content.firstElementChild.cloneNode(true);
      voice.querySelector(".prose").textContent = said.content;
      const rounds = talk.querySelectorAll(":scope > .round");
      keepingPlace(() => (rounds[rounds.length - 1] ?? roundOf("r1/")).append(voice));
    }
    if (!step) return void refresh();
    const kind = said.event.slice(said.event.lastIndexOf("_") + 1);
    if (kind === "start") {
      speaking.set(step, role);
      turnOf(step, role);
      thinking();
    } else if (kind === "chunk") {
      const turn = turnOf(step, role);
      if (!turn) return;
      if (!speaking.has(step)) { speaking.set(step, role); thinking(); }
      append(turn.querySelector(".streaming"), said.content);
    } else if (kind === "restart") {
      const turn = turnOf(step, role);
      if (!turn) return;
      const text = turn.querySelector(".streaming");
      waiting.delete(text);
      text.textContent = "";
    } else if (kind === "end" || kind === "absent") {
      settle(step).then(thinking);
      refresh();
    }
  };

  const names = ["round_start", "complete", "user_input", "decision_needed", "decision", "reopened"];
  for (const seat of [...seats.keys(), "synthesis"]) {
    for (const kind of ["start", "chunk", "restart", "end", "absent"]) names.push(`${seat}_${kind}`);
  }
  source = new EventSource(`${page.dataset.events}?after=${encodeURIComponent(page.dataset.seq)}`);
  for (const name of names) source.addEventListener(name, hear);
  source.onmessage = hear;
  source.onerror = () => { if (!over) say("Reconnecting…"); };
  source.onopen = () => { if (speaking.size) thinking(); };
  document.title = `● ${document.title}`;
})();
