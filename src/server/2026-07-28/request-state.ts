import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Clock } from "../../runtime/clock.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { HoldfastError } from "../../task/fault.ts";

/** How long a client may take over one round of questions, in ms. */
const lifetimeMs = 3_600_000;

/** How much the clocks of servers may differ, in ms. */
const skewMs = 60_000;

const algorithm = "aes-256-gcm";
const prefix = "v1.";
const nonceBytes = 12;
const tagBytes = 16;

/** What a state is good for. One that was sealed for anything else cannot be opened. */
export type Binding = readonly unknown[];

type Sealer = Pick<Runtime, "secret"> & { readonly clock: Pick<Clock, "now" | "randomBytes"> };

/**
 * Seals what the server wants back with the next call, so that it has to keep nothing itself. The client can neither
 * read nor change it, nor use it for another call (X-B-010). The key lives in the store: a restarted server opens what
 * an earlier one sealed. Whatever a state says, it is good for no longer than `lifetimeMs` from now.
 */
export async function sealState(sealer: Sealer, binding: Binding, content: unknown): Promise<string> {
  const { clock } = sealer;
  const nonce = clock.randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, (await sealer.secret("request-state")).current, nonce);
  cipher.setAAD(bytesOf(binding));
  const text = JSON.stringify({ expiresAt: clock.now() + lifetimeMs, content });
  const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
  return prefix + Buffer.concat(parts).toString("base64url");
}

/** What was sealed. Rejects with `invalid_params` for a state that is not ours, not for this call, or too old. */
export async function openState(sealer: Sealer, binding: Binding, state: string): Promise<unknown> {
  const opened = await tryOpenState(sealer, binding, state);
  if (opened !== undefined) return opened.content;
  throw new HoldfastError(
    "invalid_params",
    "Invalid requestState: it was changed, or belongs to another call. Call again without it.",
  );
}

/** The same for one that may have been sealed for something else: then it is undefined. */
export async function tryOpenState(
  sealer: Sealer,
  binding: Binding,
  state: string,
): Promise<{ readonly content: unknown } | undefined> {
  const text = openedText((await sealer.secret("request-state")).accepted, binding, state);
  if (text === undefined) return undefined;
  const { expiresAt, content } = JSON.parse(text) as { expiresAt: number; content: unknown };
  const leftMs = expiresAt - sealer.clock.now();
  if (leftMs > 0 && leftMs <= lifetimeMs + skewMs) return { content };
  throw new HoldfastError("invalid_params", "The requestState has expired. Call again without it.");
}

function openedText(keys: readonly Uint8Array[], binding: Binding, state: string): string | undefined {
  for (const key of keys) {
    const text = decipher(key, binding, state);
    if (text !== undefined) return text;
  }
  return undefined;
}

function decipher(key: Uint8Array, binding: Binding, state: string): string | undefined {
  const sealed = Buffer.from(state.slice(prefix.length), "base64url");
  if (!state.startsWith(prefix) || sealed.length < nonceBytes + tagBytes) return undefined;
  const opening = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  opening.setAAD(bytesOf(binding));
  opening.setAuthTag(sealed.subarray(-tagBytes));
  try {
    const body = opening.update(sealed.subarray(nonceBytes, -tagBytes));
    return Buffer.concat([body, opening.final()]).toString();
  } catch {
    return undefined; // the tag does not fit: other bytes, another key or another binding
  }
}

function bytesOf(binding: Binding): Uint8Array {
  return Buffer.from(JSON.stringify(binding));
}
