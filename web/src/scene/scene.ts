export interface Stage {
  setTime(time: number): void;
  reset(): void;
  look(preset: string): void;
  options: { [name: string]: boolean };
  set(name: string, on: boolean): void;
  redraw(): void;
}

export interface Scene {
  grid?: { step: number };
}

export function showScene(place: HTMLElement, _data: Scene): Stage {
  const canvas = document.createElement("canvas");
  canvas.id = "scene";
  place.append(canvas);
  return { setTime() {}, reset() {}, look() {}, options: { "Joint axes": false }, set() {}, redraw() {} };
}
