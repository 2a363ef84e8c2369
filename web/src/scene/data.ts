// The scene as Python writes it (view/scene.py): m and s, rotation matrices by rows.

export type Vector = [number, number, number];
type Kind = "force" | "moment";
export interface Solid {
  motion: number;
  link: number; // -1: the world
  kind: "box" | "sphere" | "cylinder" | "capsule" | "limb" | "mesh";
  role: "body" | "hub" | "base" | "payload" | "tool" | "obstacle";
  size: number[]; R: number[]; p: Vector; mesh?: number; tone?: number; // tone: its colour if not that of its link; -1: none of a joint
  shown?: [number, number]; // s
}

export interface Grid { origin: Vector; a: Vector; b: Vector; step: number; lines: number }
export interface Scene {
  times: number[];
  motions: { name: string; faint?: boolean; poses: number[][] }[]; // x y z qw qx qy qz per frame
  solids: Solid[];
  meshes: { points: string; faces: string }[]; // base64 of float32, and of uint16 or uint32
  axes: { link: number; p: Vector; axis: Vector }[];
  frames: { name: string; link: number; R: number[]; p: Vector }[];
  trails: { name: string; motion: number; link: number; points: Vector[] }[];
  goals: { name: string; p: Vector; R?: number[] }[];
  forces: { kind: Kind; label: string; link: number; p: Vector; vector: Vector; world: boolean }[];
  loads: { kind: Kind; feet: (Vector | null)[]; tips: (Vector | null)[]; labels: string[]; option?: string; thin?: boolean }[];
  contacts: { name: string; link: number; p: Vector }[];
  ghosts?: number[]; // frames whose poses show the swept path
  markers: { name: string; points: (Vector | null)[] }[];
  grid: Grid;
  floor: Grid | null; // below a planar motion, whose grid is behind it
  shadow: { middle: Vector; normal: Vector } | null; // the plane that it falls on
  light: Vector; // toward the sun
  options: { [name: string]: boolean }; // what can be switched, and whether it is on at first
  camera: { up: Vector; east: Vector; north: Vector; azimuth: number; front: number; elevation: number; radius: number; points: Vector[]; follow: { path: Vector[]; points: Vector[] } | null };
}
