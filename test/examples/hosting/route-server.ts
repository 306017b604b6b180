// The routes of examples/hosting/route.ts on a server, as a fetch framework would have them.
import { serve } from "@hono/node-server";
import * as route from "../../../examples/hosting/route.ts";

const routes: Readonly<Record<string, ((request: Request) => Promise<Response>) | undefined>> = { ...route };

const http = serve(
  {
    fetch: async (request) =>
      new URL(request.url).pathname === "/api/mcp"
        ? ((await routes[request.method]?.(request)) ?? new Response(null, { status: 405 }))
        : new Response("An application of your own.", { status: 404 }),
    hostname: "127.0.0.1",
    port: 0,
  },
  ({ port }) => console.log(`http://127.0.0.1:${port}/api/mcp`),
);
process.once("SIGTERM", () => void http.close());
