/**
 * Bounds the garbage of transfers. Each piece of a file leaves some five times its size behind, in strings and buffers. V8 collects them once
 * its heap has doubled, or once buffers of 64 MiB were made since the last time, whichever comes first, so a process grows by 100 MiB and more.
 */

/** About as often as V8 would collect buffers alone. */
const everyBytes = 8 * 1024 ** 2;

/** V8 collects what is garbage when so many bytes of buffers were made. */
const collectedBytes = 64 * 1024 ** 2;

let transferred = 0;

/** Call it after each part of a file. Every 8 MiB, makes and forgets a buffer that V8 counts, and whose memory nobody touches, so that it takes none. */
export function boundGarbage(bytes: number): void {
  transferred += bytes;
  if (transferred < everyBytes) return;
  transferred = 0;
  try {
    void new ArrayBuffer(collectedBytes);
  } catch {
    // There is no address space for it: only more garbage is left.
  }
}
