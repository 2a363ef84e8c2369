// A soft shadow on a plane: bodies are drawn along the light into a small picture, which lies on the plane.
// It costs far less than a shadow map where graphics are computed in software.

import {
  Matrix4, Mesh, MeshBasicMaterial, type Object3D, OrthographicCamera, PlaneGeometry, type Scene as Space, type Sphere, Vector3, type WebGLRenderer, WebGLRenderTarget,
} from "three";

export const CASTS = 1; // layer of what casts shadows

export class Shadow extends Mesh<PlaneGeometry, MeshBasicMaterial> {
  private readonly target = new WebGLRenderTarget(256, 256, { samples: 4, depthBuffer: false });
  private readonly eye = new OrthographicCamera();
  private readonly flat = new MeshBasicMaterial({ color: 0 });
  private readonly shear = new Matrix4();
  // light: toward the sun; far: how far from the plane bodies may be
  constructor(middle: Vector3, normal: Vector3, light: Vector3, far: number) {
    super(new PlaneGeometry(1, 1), new MeshBasicMaterial({ color: 0, transparent: true, opacity: 0.17, depthWrite: false }));
    this.material.map = this.target.texture;
    this.renderOrder = -2;
    Object.assign(this.eye, { near: -far, far });
    this.eye.layers.set(CASTS);
    this.eye.up.copy(Math.abs(normal.z) < 0.9 ? new Vector3(0, 0, 1) : new Vector3(0, 1, 0));
    this.eye.position.copy(middle);
    this.eye.lookAt(middle.clone().sub(normal));
    this.eye.updateMatrixWorld();
    const ray = light.clone().transformDirection(this.eye.matrixWorldInverse);
    this.shear.makeShear(0, 0, 0, 0, -ray.x / ray.z, -ray.y / ray.z);
    this.quaternion.copy(this.eye.quaternion);
  }

  // bodies: balls around them and what moves them
  cast(renderer: WebGLRenderer, space: Space, bodies: [Object3D, Sphere][], visible: boolean): void {
    if (!(this.visible = visible)) return;
    const { eye } = this, onPlane = this.shear.clone().multiply(eye.matrixWorldInverse), low = new Vector3(Infinity, Infinity), high = low.clone().negate();
    for (const [{ matrixWorld }, { center, radius }] of bodies) {
      const place = center.clone().applyMatrix4(matrixWorld).applyMatrix4(onPlane), around = 1.3 * radius;
      low.min(place.clone().subScalar(around));
      high.max(place.addScalar(around));
    }
    Object.assign(eye, { left: low.x, right: high.x, bottom: low.y, top: high.y });
    eye.updateProjectionMatrix();
    eye.projectionMatrix.multiply(this.shear);
    this.scale.set(high.x - low.x, high.y - low.y, 1);
    this.position.set((low.x + high.x) / 2, (low.y + high.y) / 2, 0).applyMatrix4(eye.matrixWorld);
    space.overrideMaterial = this.flat;
    renderer.setRenderTarget(this.target);
    renderer.clear();
    renderer.render(space, eye);
    renderer.setRenderTarget(null);
    space.overrideMaterial = null;
  }

  dispose(): void { this.target.dispose(); }
}
