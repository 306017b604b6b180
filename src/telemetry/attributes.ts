/**
 * Names of attributes: those of OpenTelemetry's conventions if they have one, otherwise `holdfast.…`. docs/guides/observability.md
 * explains them.
 */
export const attribute = {
  method: "mcp.method.name",
  protocolVersion: "mcp.protocol.version",
  requestId: "jsonrpc.request.id",
  statusCode: "rpc.response.status_code",
  transport: "network.transport",
  networkProtocol: "network.protocol.name",
  operation: "gen_ai.operation.name",
  tool: "gen_ai.tool.name",
  prompt: "gen_ai.prompt.name",
  serverAddress: "server.address",
  serverPort: "server.port",
  errorType: "error.type",
  taskId: "holdfast.task.id",
  parentId: "holdfast.task.parent_id",
  attempt: "holdfast.task.attempt",
  attemptEnd: "holdfast.attempt.end",
  key: "holdfast.journal.key",
  tries: "holdfast.step.tries",
  stepOutcome: "holdfast.step.outcome",
  taskOutcome: "holdfast.task.outcome",
  resumed: "holdfast.attempt.resumed",
  queueState: "holdfast.queue.state",
  storeCommand: "holdfast.store.command",
  storeOutcome: "holdfast.store.outcome",
  httpStatus: "http.response.status_code",
  waitOutcome: "holdfast.wait.outcome",
} as const;
