// One case: its values, and its motion in the player of the report or how to open it.
import { button, find, tag } from "../nodes";
import { KEPT, motionPage, SOLVED } from "./data";
import type { Study } from "./state";

export function showDetails(study: Study): void {
  const dialog = find("case") as HTMLDialogElement, { cases, motions, states, opens } = study.data;
  let version = 0;

  const open = async (row: number) => {
    const mine = ++version;
    dialog.replaceChildren();
    const heading = tag("div", dialog, { class: "heading" });
    tag("h2", heading, { id: "case-title" }, `Case ${cases[row]}`);
    const status = study.columns.find(({ data }) => data.role === "status" && data.name === "status")?.text(row);
    if (status) tag("span", heading, { class: `badge ${states[row] === SOLVED ? "good" : "bad"}` }, `${states[row] === SOLVED ? "✓" : "✗"} ${status.replace(/_/g, " ")}`);
    const end = tag("div", heading, { class: "end" });
    for (const [text, by] of [["‹ Previous", -1], ["Next ›", 1]] as const) {
      const to = neighbour(study, row, by);
      button(end, text, () => { study.chosen.set(to!); study.opened.set(to); }, to === null ? { disabled: "" } : {});
    }
    button(end, "Close", () => dialog.close(), { id: "close" });
    const facts = tag("p", dialog, { class: "facts" });
    for (const column of study.columns) if (column.text(row) && column.data.name !== "status") {
      const fact = tag("span", facts, {}, `${column.data.name} `);
      tag("b", fact, {}, column.full(row));
    }
    if (!dialog.open) dialog.showModal();
    if (study.motion(row)) {
      const page = await motionPage(row);
      if (mine !== version || !dialog.open) return;
      const frame = tag("iframe", dialog, { sandbox: "allow-scripts allow-downloads", title: `Motion of case ${cases[row]}` });
      frame.srcdoc = page;
    } else if (motions[row] === KEPT) {
      const message = tag("p", dialog, { class: "message" }, "This motion is not in this page. Open it with ");
      tag("code", message, {}, opens.join(String(cases[row]).padStart(6, "0")));
    } else tag("p", dialog, { class: "message" }, states[row] === SOLVED ? "The motion of this case was not kept: run the study with keep = \"all\" in its [solve] table to see it here." : "This case has no result, so there is no motion.");
  };
  dialog.addEventListener("close", () => { version++; dialog.replaceChildren(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  study.opened.subscribe((row) => { if (row !== null) void open(row); });
}

// The next case that is shown.
function neighbour({ active, count }: Study, row: number, by: number): number | null {
  for (let other = row + by; other >= 0 && other < count; other += by) if (active[other]) return other;
  return null;
}
