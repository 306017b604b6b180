import type { McpServer } from "@modelcontextprotocol/server";

const watched = "test://watched-resource";

/** A resource that changes whenever a client subscribes to it; subscribers are notified. */
export function addWatchedResource(mcp: McpServer): void {
  const subscribed = new Set<string>();
  let changes = 0;
  mcp.registerResource(
    "watched-resource",
    watched,
    { description: "Changes with every subscription", mimeType: "text/plain" },
    ({ href: uri }) => ({
      contents: [{ uri, mimeType: "text/plain", text: `Subscribed ${changes} times.` }],
    }),
  );
  mcp.server.registerCapabilities({ resources: { subscribe: true } });
  mcp.server.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    subscribed.add(uri);
    changes += 1;
    if (subscribed.has(watched)) await mcp.server.sendResourceUpdated({ uri: watched });
    return {};
  });
  mcp.server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });
}
