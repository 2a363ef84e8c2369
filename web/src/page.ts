import "./page.css";
import uPlot from "uplot";
import { showScene } from "./scene/scene";

const data = JSON.parse(document.getElementById("data")!.textContent!);
const place = document.getElementById("viewport");
if (place && data.scene) showScene(place, data.scene).setTime(data.clock.start);
console.log(uPlot.fmtNum);
