// The scene as Python writes it (view/scene.py): m and s, rotation matrices by rows.

export type Vector = [number, number, number];
type Kind = "force" | "moment";

export interface Solid {
  motion: number;
  link: number; // -1: the world
  kind: "box" | "sphere" | "cylinder" | "capsule" | "limb" | "mesh";
  size: number[];
  R: number[];
  p: Vector;
  role: "body" | "hub" | "base" | "payload" | "tool" | "obstacle";
  mesh?: number;
  shown?: [number, number]; // s
}

export interface Scene {
  times: number[];
  motions: { name: string; faint?: boolean; shown?: boolean; poses: number[][] }[]; // x y z qw qx qy qz per frame
  solids: Solid[];
  meshes: { points: string; faces: string }[]; // base64 of float32, and of uint16 or uint32
  axes: { link: number; p: Vector; axis: Vector }[];
  frames: { name: string; link: number; R: number[]; p: Vector }[];
  trails: { name: string; motion: number; link: number; points: Vector[] }[];
  goals: { name: string; p: Vector; R?: number[] }[];
  forces: { kind: Kind; label: string; link: number; p: Vector; vector: Vector; world: boolean }[];
  loads: { kind: Kind; feet: (Vector | null)[]; tips: (Vector | null)[]; labels: string[] }[];
  contacts: { name: string; link: number; p: Vector }[];
  markers: { name: string; points: (Vector | null)[] }[];
  grid: { origin: Vector; a: Vector; b: Vector; step: number; lines: number; wall: boolean; floor: Vector };
  ground: boolean;
  camera: { up: Vector; east: Vector; north: Vector; azimuth: number; elevation: number; centre: Vector; radius: number; points: Vector[]; follow: { path: Vector[]; points: Vector[] } | null };
}

// Frame at or before a time, and the share of the way to the next one.
export function locate(times: number[], time: number): [number, number] {
  const last = times.length - 1, step = (times[last] - times[0]) / last;
  if (!(step > 0)) return [0, 0];
  const at = Math.max(0, Math.min(last, (time - times[0]) / step)), frame = Math.min(Math.floor(at), last - 1);
  return [frame, at - frame];
}
