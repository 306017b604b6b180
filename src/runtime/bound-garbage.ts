/**
 * Bounds the garbage of transfers. V8 collects the buffers of sockets and sources once 64 MiB of them were made, so also a program of Node alone
 * that pipes a large file grows by that.
 */

/** Layers on both sides make several times as much of it as the file has: a driver of a database, HTTP, and JSON. */
const everyBytes = 2 * 1024 ** 2;

/** V8 collects what is garbage when so many bytes of buffers were made. */
const collectedBytes = 64 * 1024 ** 2;

let transferred = 0;

/** Call it after each part of a file. Every 2 MiB, makes and forgets a buffer that V8 counts, and whose memory nobody touches, so that it takes none. */
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
