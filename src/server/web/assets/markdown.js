// Renders Markdown while it streams in. Text only ever becomes text nodes of a few known elements, so it cannot carry markup,
// links or requests. A finished block is not touched again, and the open one is bounded. The server renders the whole turn
// when it has ended.
"use strict";
const streamMarkdown = (() => {
  const MAX_BLOCK = 20000;
  const INLINE = /`([^`\n]{1,400})`|\*\*([^*\n]{1,1000})\*\*|\*([^*\s][^*\n]{0,1000})\*|\[([^\][\n]{1,300})\]\([^()\s]{0,1000}\)/g;
  const HEADING = /^#{1,6}\s+(.*)$/;
  const ITEM = /^\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
  const FENCE = /^\s*(?:```|~~~)/;
  const ROW = /^\s*\|.*\|\s*$/;
  const RULE = /^[\s|:-]+$/;

  const element = (name, ...children) => {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  };

  const inline = (text) => {
    const parts = [];
    let end = 0;
    for (const match of text.matchAll(INLINE)) {
      parts.push(text.slice(end, match.index));
      const [whole, code, strong, emphasis, link] = match;
      if (code !== undefined) parts.push(element("code", code));
      else if (strong !== undefined) parts.push(element("strong", strong));
      else if (emphasis !== undefined) parts.push(element("em", emphasis));
      else parts.push(link);
      end = match.index + whole.length;
    }
    parts.push(text.slice(end));
    return parts;
  };

  const tableOf = (lines) => {
    const rows = lines.filter((line) => !RULE.test(line));
    return element("table", ...rows.map((line) => {
      const cells = line.trim().replace(/^\||\|$/g, "").split("|");
      return element("tr", ...cells.map((cell) => element("td", ...inline(cell.trim()))));
    }));
  };

  const listOf = (lines) => {
    const [, number] = ITEM.exec(lines[0]);
    const list = element(number === undefined ? "ul" : "ol");
    if (number !== undefined) list.start = Number(number);
    for (const line of lines) {
      const item = ITEM.exec(line);
      if (item) list.append(element("li", ...inline(item[2])));
      else list.lastChild.append(" ", ...inline(line.trim()));
    }
    return list;
  };

  // Consecutive lines of one kind make one element.
  const kindOf = (line, before) => {
    if (HEADING.test(line)) return "heading";
    if (ITEM.test(line)) return "list";
    if (ROW.test(line)) return "table";
    if (/^\s*>/.test(line)) return "quote";
    return before === "list" ? "list" : "paragraph";
  };
  const elementOf = (kind, lines) => {
    if (kind === "heading") return element("h4", ...inline(HEADING.exec(lines[0])[1]));
    if (kind === "list") return listOf(lines);
    if (kind === "table") return tableOf(lines);
    const text = kind === "quote" ? lines.map((line) => line.replace(/^\s*>\s?/, "")) : lines;
    return element(kind === "quote" ? "blockquote" : "p", ...inline(text.join("\n")));
  };
  const nodesOf = (block) => {
    if (FENCE.test(block)) {
      const lines = block.split("\n").slice(1);
      if (FENCE.test(lines.at(-1) ?? "")) lines.pop();
      return [element("pre", element("code", lines.join("\n")))];
    }
    const nodes = [];
    let kind = null;
    let lines = [];
    const close = () => { if (lines.length) nodes.push(elementOf(kind, lines)); };
    for (const line of block.split("\n")) {
      const next = kindOf(line, kind);
      if (next !== kind || next === "heading") {
        close();
        lines = [];
        kind = next;
      }
      lines.push(line);
    }
    close();
    return nodes;
  };

  // The length of the first block with the blank line after it, or 0 if it is still open.
  const lengthOfFirst = (text) => {
    if (!FENCE.test(text)) return /\n[ \t]*\n/.exec(text)?.index + 2 || 0;
    const end = /\n\s*(?:```|~~~)[^\n]*\n/.exec(text);
    return end ? end.index + end[0].length : 0;
  };

  return (container) => {
    let open = "";
    let tail = [];
    const replaceTail = (nodes) => {
      for (const node of tail) node.remove();
      container.append(...nodes);
      tail = nodes;
    };
    const append = (text) => {
      open += text;
      open = open.replace(/^\s*\n/, "");
      for (let length = lengthOfFirst(open); length; length = lengthOfFirst(open)) {
        replaceTail(nodesOf(open.slice(0, length).trimEnd()));
        tail = [];
        open = open.slice(length).replace(/^\s*\n/, "");
      }
      if (open.length > MAX_BLOCK) {
        replaceTail([element("p", open)]);
        tail = [];
        open = "";
      }
      replaceTail(open.trim() ? nodesOf(open) : []);
    };
    const clear = () => {
      open = "";
      tail = [];
      container.replaceChildren();
    };
    return { append, clear };
  };
})();
