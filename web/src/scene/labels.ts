// Texts beside things of the scene: HTML above the canvas, so that they are sharp and stay text.

import { type Camera, Vector3 } from "three";

export class Labels {
  readonly layer = document.createElement("div");
  private readonly spot = new Vector3();

  constructor() {
    this.layer.className = "labels";
    Object.assign(this.layer.style, { position: "absolute", inset: "0", overflow: "hidden", pointerEvents: "none" });
  }

  // at: where it stands now, null if nowhere. colour: a CSS colour.
  add(text: string, colour: string): (at: Vector3 | null, camera: Camera, text?: string) => void {
    const label = document.createElement("span");
    label.textContent = text;
    Object.assign(label.style, {
      position: "absolute", left: "0", top: "0", color: colour, font: "600 12px system-ui, sans-serif", whiteSpace: "nowrap", willChange: "transform",
    });
    this.layer.append(label);
    return (at, camera, now) => {
      label.hidden = at === null;
      if (at === null) return;
      if (now !== undefined && now !== label.textContent) label.textContent = now;
      const { x, y, z } = this.spot.copy(at).project(camera);
      label.hidden = z > 1;
      label.style.transform = `translate(${((x + 1) / 2 * this.layer.clientWidth + 8).toFixed(1)}px, ${((1 - y) / 2 * this.layer.clientHeight - 8).toFixed(1)}px)`;
    };
  }

  clear(): void {
    this.layer.replaceChildren();
  }
}
