import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, metaOf } from "../../generation/message.ts";
import type { TaskTraces } from "../../runtime/telemetry/task-traces.ts";
import type { RequestSpan } from "../../runtime/telemetry/tracing.ts";
import type { TraceContext } from "../../task/record.ts";
import type { TextAnswer } from "../answer.ts";

/** The parts of a request's answer that its trace records. */
type TracedAnswer =
  | { readonly result: object }
  | { readonly error: { readonly code: number; readonly message: string } }
  | TextAnswer;

/** The tool of a call that is unknown until the author's server has answered. */
interface UnknownTool {
  readonly name: string;
  readonly learned: () => boolean;
}

export interface RequestTraceSetup {
  readonly span: RequestSpan;
  readonly traces: TaskTraces;
  readonly isCall: boolean;
  readonly unknownTool: UnknownTool | undefined;
}

/** The span of one request, from its dispatch to its answer. None if nothing is traced. */
export class RequestTrace {
  readonly #setup: RequestTraceSetup;

  constructor(setup: RequestTraceSetup) {
    this.#setup = setup;
  }

  /** The trace context for everything that the request causes. */
  get context(): TraceContext | undefined {
    return this.#setup.span.context;
  }

  /** Calls `work`; its spans become children of the request's span. */
  run<T>(work: () => T): T {
    return this.#setup.span.run(work);
  }

  /** The request with the context of its span in its `_meta`, for all who handle it. */
  traced<R extends Pick<JSONRPCRequest, "params">>(request: R): R {
    return this.context === undefined ? request : { ...request, params: this.paramsOf(request.params) };
  }

  /** Its params with the same. */
  paramsOf(params: unknown): JsonObject {
    const given = isJsonObject(params) ? params : {};
    if (this.context === undefined) return given;
    const { traceparent: _, tracestate: __, ...others } = metaOf(given);
    return { ...given, _meta: { ...others, ...this.context } };
  }

  /** The request was about this task, which its sender may see. */
  about(task: string): void {
    const { span, traces } = this.#setup;
    span.about({ id: task, trace: traces.of(task) });
  }

  answered(answer: TracedAnswer): void {
    const { span, isCall, unknownTool } = this.#setup;
    if ("error" in answer) {
      const { code, message } = answer.error;
      span.end({ code, message });
      return;
    }
    const isToolError =
      isCall && "result" in answer && "isError" in answer.result && answer.result.isError === true;
    const tool = unknownTool?.learned() === true ? unknownTool.name : undefined;
    span.end({ isToolError, ...(tool !== undefined && { tool }) });
  }

  /** It will not be answered: its client cancelled it, or is gone. */
  cancelled(): void {
    this.#setup.span.end({ isCancelled: true });
  }
}
