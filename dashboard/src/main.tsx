import { render } from "preact";
import { App } from "./app.tsx";
import { openServices } from "./api/services.ts";
import "./style/theme.css";
import "./style/layout.css";
import "./style/parts.css";
import "./style/tables.css";
import "./style/incidents.css";
import "./style/task.css";
import "./style/files.css";
import { keepPlaces } from "./routing/kept-place.ts";
import { keepTheme } from "./parts/theme.tsx";
import { Unopened } from "./parts/unopened.tsx";

keepTheme();
const place = document.querySelector("#app");
if (place !== null) {
  try {
    const { base, session, admin, feed } = await openServices();
    keepPlaces();
    render(<App services={{ base, session, admin, feed }} />, place);
  } catch (error) {
    render(<Unopened error={error instanceof Error ? error : new Error(String(error))} />, place);
  }
}
