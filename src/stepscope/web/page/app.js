import { start as startList } from "./list.js";
import { start as startRun } from "./run.js";
import { start as startOverlay } from "./overlay.js";
import { copyButtons } from "./common.js";
// The app's part of a page: which of its views this is.
const app = document.getElementById("app");
if (app) {
  copyButtons(app);
  const start = { list: startList, run: startRun, compare: startOverlay }[app.dataset.view];
  if (start) start(app);
}
