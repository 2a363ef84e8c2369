// What all views of a study share: which cases are shown, and the one that is chosen.
import { Shared } from "../clock";
import { readable } from "../nodes";
import { Column } from "./columns";
import { IN_PAGE, type StudyData } from "./data";

// Of one column: from and to, words that must occur, or both.
export interface Filter { span?: [number, number]; text?: string }

export class Study {
  readonly columns: Column[];
  readonly drawn: Column[]; // those that plots can show
  readonly count: number;
  readonly active: Uint8Array; // whether filters let a case through
  readonly changed = new Shared<null>(null); // filters
  readonly chosen = new Shared<number | null>(null); // a row
  readonly colours = new Shared<Column | null>(null);
  readonly paint = new Shared<null>(null); // the page has other colours or another size
  readonly opened = new Shared<number | null>(null); // a row whose details are shown
  shown = 0; // how many cases are active
  reason: number | null = null; // number of the reason whose cases alone are shown
  private readonly filters = new Map<number, Filter>();
  private pending = 0;

  constructor(readonly data: StudyData) {
    this.columns = data.columns.map((column, k) => new Column(column, k));
    this.drawn = this.columns.filter((column) => column.drawable);
    this.count = data.cases.length;
    this.active = new Uint8Array(this.count).fill(1);
    this.shown = this.count;
  }

  filter(column: Column): Filter { return this.filters.get(column.index) ?? {}; }
  get filtered(): [Column, Filter][] { return [...this.filters].map(([k, filter]) => [this.columns[k], filter]); }

  // Changes one part of a column's filter; null removes it.
  setSpan(column: Column, span: [number, number] | null): void { this.set(column, { ...this.filter(column), span: span ?? undefined }); }
  setText(column: Column, text: string): void { this.set(column, { ...this.filter(column), text: text || undefined }); }
  setReason(reason: number | null): void { this.reason = reason; this.update(); }

  clear(): void {
    this.filters.clear();
    this.reason = null;
    this.update();
  }

  drop(column: Column): void { this.set(column, {}); }

  motion(row: number): boolean { return this.data.motions[row] === IN_PAGE; }

  // Views follow in the next frame, once for all changes before it.
  private set(column: Column, filter: Filter): void {
    if (filter.span || filter.text) this.filters.set(column.index, filter); else this.filters.delete(column.index);
    this.update();
  }

  private update(): void {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.apply();
      this.changed.set(null);
    });
  }

  private apply(): void {
    const { active, reason } = this;
    active.fill(reason === null ? 1 : 0);
    if (reason !== null) for (const row of this.data.reasons[reason]) active[row] = 1;
    for (const [column, { span, text }] of this.filtered) {
      const { numbers } = column, wanted = text && this.wordsWith(column, text);
      for (let row = 0; row < active.length; row++) {
        if (span && !(numbers[row] >= span[0] && numbers[row] <= span[1])) active[row] = 0;
        if (wanted && !wanted.has(numbers[row])) active[row] = 0;
      }
    }
    this.shown = active.reduce((sum, one) => sum + one, 0);
  }

  private wordsWith(column: Column, text: string): Set<number> {
    const low = text.toLowerCase();
    return new Set((column.words ?? []).flatMap((word, k) => (word.toLowerCase().includes(low) ? [k] : [])));
  }
}

export function filterText(column: Column, { span, text }: Filter): string {
  const parts = text ? [`contains “${text}”`] : [];
  if (span && column.words) {
    const words = column.words.filter((_, k) => k >= span[0] && k <= span[1]);
    parts.push(words.length === 1 ? `is ${words[0]}` : `${words[0] ?? "nothing"} to ${words[words.length - 1] ?? "nothing"}`);
  } else if (span) {
    const [low, high] = span.map((end) => readable(end, 4));
    parts.push(span[0] === -Infinity ? `≤ ${high}` : span[1] === Infinity ? `≥ ${low}` : low === high ? `= ${low}` : `${low} to ${high}`);
  }
  return `${column.data.name} ${parts.join(", ")}`;
}
