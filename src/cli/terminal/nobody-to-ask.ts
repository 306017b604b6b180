import type { OnInput } from "../../client/question/input-request.ts";
import { LeftOpen } from "./left-open.ts";

/** Where there is nobody to ask: every question stays open. */
export const nobodyToAsk: OnInput = async () => {
  throw new LeftOpen();
};
