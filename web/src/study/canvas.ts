// A canvas that is as sharp as the screen and is drawn again when its size or the colours change.
import { resolved, tag } from "../nodes";
import type { Study } from "./state";

export class Canvas {
  readonly node: HTMLCanvasElement;
  private pending = 0;

  constructor(place: HTMLElement, study: Study, private readonly paint: (pen: CanvasRenderingContext2D, width: number, height: number) => void) {
    this.node = tag("canvas", place);
    const again = () => this.draw();
    new ResizeObserver(again).observe(this.node);
    for (const each of [study.changed, study.chosen, study.colours, study.paint]) (each as { subscribe(listener: () => void): void }).subscribe(again);
  }

  draw(): void {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      const { node } = this, { clientWidth: width, clientHeight: height } = node, ratio = devicePixelRatio || 1;
      if (!width || !height) return;
      Object.assign(node, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
      const pen = node.getContext("2d")!;
      pen.scale(ratio, ratio);
      pen.font = "11px system-ui, sans-serif";
      this.paint(pen, width, height);
    });
  }
}

export const colour = (name: string) => resolved(name.startsWith("var(") ? name : `var(--${name})`);
