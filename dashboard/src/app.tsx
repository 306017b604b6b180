import type { JSX } from "preact";
import { ServicesProvider, type Services } from "./api/services.ts";
import { Shell } from "./parts/shell.tsx";
import { taskIdIn } from "./routing/task-path.ts";
import { usePlace, type Place } from "./routing/location.ts";
import { ActionsPage } from "./pages/actions/actions-page.tsx";
import { NodesPage } from "./pages/nodes/nodes-page.tsx";
import { RefusalsPage } from "./pages/refusals/refusals-page.tsx";
import { TaskPage } from "./pages/task/task-page.tsx";
import { TasksPage } from "./pages/tasks/tasks-page.tsx";
import { ToolsPage } from "./pages/tools/tools-page.tsx";

export function App({ services }: { readonly services: Services }): JSX.Element {
  const place = usePlace(services.base);
  return (
    <ServicesProvider value={services}>
      <Shell path={place.path}>{pageAt(place)}</Shell>
    </ServicesProvider>
  );
}

function pageAt({ path, query }: Place): JSX.Element {
  const id = taskIdIn(path);
  if (id !== undefined) return <TaskPage id={id} key={id} />;
  switch (path) {
    case "/":
      return <TasksPage query={query} />;
    case "/tools":
      return <ToolsPage query={query} />;
    case "/nodes":
      return <NodesPage />;
    case "/refusals":
      return <RefusalsPage query={query} />;
    case "/actions":
      return <ActionsPage query={query} />;
    default:
      return <h1>Page not found</h1>;
  }
}
