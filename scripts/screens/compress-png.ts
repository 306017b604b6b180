import { crc32, deflateSync, inflateSync } from "node:zlib";

const signatureBytes = 8;

/**
 * The same picture, with 8 bits per channel, in fewer bytes. Browsers compress fast, with filters for photographs. Areas of one colour
 * and repeated letters are smaller without filters.
 */
export function compressPng(png: Buffer): Buffer {
  const kept: Buffer[] = [png.subarray(0, signatureBytes)];
  const data: Buffer[] = [];
  const width = png.readUInt32BE(16);
  const bytes = png.readUInt8(25) === 6 ? 4 : 3; // per pixel: with or without alpha
  for (let at = signatureBytes; at < png.length;) {
    const end = at + 12 + png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    if (type === "IDAT") data.push(png.subarray(at + 8, end - 4));
    else {
      if (type === "IEND") {
        const plain = withoutFilters(inflateSync(Buffer.concat(data)), width * bytes, bytes);
        kept.push(chunk("IDAT", deflateSync(plain, { level: 9, memLevel: 9 })));
      }
      kept.push(png.subarray(at, end));
    }
    at = end;
  }
  return Buffer.concat(kept);
}

/** Unfiltered scanlines. Each begins with the number of its filter, which is 0 here. */
function withoutFilters(lines: Buffer, length: number, bytes: number): Buffer {
  const plain = Buffer.alloc(lines.length);
  const at = (place: number): number => plain[place] ?? 0;
  for (let start = 0; start < lines.length; start += length + 1) {
    const filter = lines[start];
    for (let n = 1; n <= length; n++) {
      const place = start + n;
      const left = n > bytes ? at(place - bytes) : 0;
      const above = start > 0 ? at(place - length - 1) : 0;
      const corner = start > 0 && n > bytes ? at(place - length - 1 - bytes) : 0;
      const guess = [0, left, above, (left + above) >> 1, nearest(left, above, corner)][filter ?? 0] ?? 0;
      plain[place] = (lines[place] ?? 0) + guess;
    }
  }
  return plain;
}

/** The Paeth predictor. */
function nearest(left: number, above: number, corner: number): number {
  const sum = left + above - corner;
  const [toLeft, toAbove, toCorner] = [Math.abs(sum - left), Math.abs(sum - above), Math.abs(sum - corner)];
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const made = Buffer.alloc(body.length + 8);
  made.writeUInt32BE(data.length, 0);
  body.copy(made, 4);
  made.writeUInt32BE(crc32(body), body.length + 4);
  return made;
}
