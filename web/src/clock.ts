// What all parts of a page share: the time, the part of it that charts show, and the unit of angles.
import type { Phase, Span } from "./data";

// A value with listeners.
export class Shared<T> {
  private readonly listeners: ((value: T) => void)[] = [];
  constructor(public value: T) {}
  subscribe(listener: (value: T) => void): void { this.listeners.push(listener); }

  set(value: T): void {
    this.value = value;
    for (const listener of this.listeners) listener(value);
  }
}

export class Clock extends Shared<number> {
  readonly playing = new Shared(false);
  speed = 1;
  loop = true;
  private last = 0; // ms of the last frame
  private pending = 0; // the frame that was asked for
  constructor(readonly start: number, readonly end: number, readonly phases: Phase[]) { super(start); }
  get duration(): number { return this.end - this.start; }
  seek(time: number): void { this.set(Math.max(this.start, Math.min(this.end, time))); }

  toggle(): void {
    this.playing.set(!this.playing.value);
    cancelAnimationFrame(this.pending);
    if (!this.playing.value) return;
    if (this.value >= this.end) this.seek(this.start);
    this.last = 0;
    this.pending = requestAnimationFrame((now) => this.step(now));
  }

  private step(now: number): void {
    const time = this.value + this.speed * (this.last ? Math.min(0.2, (now - this.last) / 1000) : 0), over = time >= this.end;
    this.last = now;
    this.seek(over && this.loop && this.duration > 0 ? this.start + (time - this.start) % this.duration : time);
    this.pending = requestAnimationFrame((next) => this.step(next));
    if (over && !this.loop) this.toggle();
  }
}

export interface Page {
  times: number[][];
  clock: Clock | null;
  zoom: Shared<Span | null>; // of all charts over time
  zooming: Shared<boolean>; // whether a drag zooms rather than seeks
  radians: Shared<boolean>;
  paint: Shared<boolean>; // set when the colours change; true: on paper
}

export const hasAngle = (unit: string) => unit.startsWith("°");

// The unit in which a quantity is shown, and the factor to it.
export const shownIn = (unit: string, radians: boolean): [string, number] =>
  (radians && hasAngle(unit) ? [unit.replace("°", "rad"), Math.PI / 180] : [unit, 1]);
