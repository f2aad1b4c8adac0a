"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      const numeric = head.classList.contains("n");
      const key = (row) => {
        const text = row.cells[column].textContent.trim();
        return numeric ? Number.parseFloat(text.replaceAll(",", "")) : text;
      };
      const compare = (a, b) => {
        const x = key(a), y = key(b);
        if (numeric) return (Number.isNaN(x) ? -Infinity : x) - (Number.isNaN(y) ? -Infinity : y);
        return x.localeCompare(y);
      };
      const rows = [...table.tBodies[0].rows].sort(compare);
      table.tBodies[0].append(...(down ? rows : rows.reverse()));
    });
  });
}
for (const search of document.querySelectorAll("input[data-table]")) {
  const tables = search.dataset.table.split(" ").map((id) => document.getElementById(id)).filter(Boolean);
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const status = search.closest("p").querySelector("[role=status]");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    for (const table of tables) {
      const folded = table.closest("details");
      if (folded) folded.open = words.length > 0 && [...table.tBodies[0].rows].some((row) => !row.hidden);
    }
    status.textContent = `${shown} ${status.dataset.noun}`;
  });
}
for (const picture of document.querySelectorAll("svg.graphs")) {
  const status = picture.closest("section").querySelector(".picked");
  picture.addEventListener("click", (event) => {
    const title = event.target.closest("g")?.querySelector("title");
    status.textContent = title ? title.textContent : "";
  });
}
