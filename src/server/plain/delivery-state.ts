/**
 * Where the result of a task is on its way to the callers that wait for it in this process.
 *
 * | state       | when the last caller calls off | when its time is over      | a new call that is the same      |
 * | ----------- | ------------------------------ | -------------------------- | -------------------------------- |
 * | `awaited`   | the task is cancelled          | it is, after the grace     | joins                            |
 * | `kept`      | the task goes on               | it goes on                 | joins                            |
 * | `sending`   | nothing: the task has ended    | nothing                    | waits, then joins or begins anew |
 * | `delivered` | nothing: the task has ended    | nothing                    | begins anew                      |
 * | `abandoned` | nothing: it is being cancelled | nothing                    | waits, then begins anew          |
 *
 * The grace is stored with the task, so that it lasts through a restart, and ends when a call waits for the task. `kept`
 * means that somebody may come back for the result: with a ticket, with an idempotency key, or because the answer was lost.
 */
export type DeliveryState = "awaited" | "kept" | "sending" | "delivered" | "abandoned";

/**
 * `keep`: a caller was told how to come back. `call_off`: the last caller left and wants no result. `end_cancel`: the
 * cancellation succeeded or failed. `send`: an answer with the result goes out. `arrive`: it arrived, and the task has
 * given up its key. `lose`: no answer arrived, and no other is on its way.
 */
export type DeliveryEvent = "keep" | "call_off" | "end_cancel" | "send" | "arrive" | "lose";

/** Events that are not listed change nothing. */
const transitions: Readonly<Record<DeliveryState, Partial<Record<DeliveryEvent, DeliveryState>>>> = {
  awaited: { keep: "kept", call_off: "abandoned", send: "sending" },
  kept: { send: "sending" },
  sending: { arrive: "delivered", lose: "kept" },
  delivered: {},
  abandoned: { end_cancel: "kept" },
};

export function nextState(state: DeliveryState, event: DeliveryEvent): DeliveryState {
  return transitions[state][event] ?? state;
}
