/** Makes a picture of a page small: at most 256 colours and the best compression. */

import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const mostColours = 256;

type Pixels = { width: number; height: number; /** Three bytes each. */ bytes: Buffer };

export function smallPng(png: Buffer): Buffer {
  const { width, height, bytes } = readPixels(png);
  const counts = new Map<number, number>();
  for (let at = 0; at < bytes.length; at += 3) {
    const colour = bytes.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = paletteOf(counts);
  const places = new Map<number, number>();
  for (const colour of counts.keys()) places.set(colour, nearest(palette, colour));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0, from = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, from += 3)
      rows[y * (width + 1) + 1 + x] = places.get(bytes.readUIntBE(from, 3)) ?? 0;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.alloc(palette.length * 3);
  palette.forEach((colour, place) => colours.writeUIntBE(colour, place * 3, 3));
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/**
 * The most frequent colour of each neighbourhood, so that a rare hue is not lost; then the most
 * frequent ones.
 */
function paletteOf(counts: ReadonlyMap<number, number>): number[] {
  const sorted = [...counts].toSorted((a, b) => b[1] - a[1]).map(([colour]) => colour);
  const neighbourhoods = new Map<number, number>();
  for (const colour of sorted) {
    const neighbourhood = colour & 0xf0f0f0;
    if (!neighbourhoods.has(neighbourhood)) neighbourhoods.set(neighbourhood, colour);
  }
  const spread = [...neighbourhoods.values()].slice(0, (mostColours * 3) / 4);
  return [...new Set([...spread, ...sorted])].slice(0, mostColours);
}

function nearest(palette: readonly number[], colour: number): number {
  let best = 0;
  let least = Infinity;
  for (const [place, other] of palette.entries()) {
    const [red, green, blue] = [
      (other >> 16) - (colour >> 16),
      ((other >> 8) & 255) - ((colour >> 8) & 255),
      (other & 255) - (colour & 255),
    ];
    const distance = red * red + green * green + blue * blue;
    if (distance < least) [best, least] = [place, distance];
    if (least === 0) break;
  }
  return best;
}

/** As Chromium writes them: 8 bits, red, green and blue, with or without alpha, not interlaced. */
function readPixels(png: Buffer): Pixels {
  let width = 0;
  let height = 0;
  let channels = 0;
  const parts: Buffer[] = [];
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const name = png.toString("latin1", at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (name === "IHDR") {
      [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
      channels = data[9] === 6 ? 4 : 3;
      if (data[8] !== 8 || data[12] !== 0 || (data[9] !== 2 && data[9] !== 6))
        throw new Error("not a picture as Chromium takes them");
    }
    if (name === "IDAT") parts.push(data);
    at += length + 12;
  }
  const raw = unfilter(inflateSync(Buffer.concat(parts)), width * channels, height, channels);
  const bytes = Buffer.alloc(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel += 1)
    raw.copy(bytes, pixel * 3, pixel * channels, pixel * channels + 3);
  return { width, height, bytes };
}

/**
 * Each row says with its first byte how it was foretold from its neighbours: not, left, above,
 * their mean, or Paeth's.
 */
function unfilter(data: Buffer, stride: number, height: number, channels: number): Buffer {
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x < channels ? 0 : (out[at - channels] ?? 0);
      const above = y === 0 ? 0 : (out[at - stride] ?? 0);
      const corner = x < channels || y === 0 ? 0 : (out[at - stride - channels] ?? 0);
      const foretold =
        [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter ?? 0] ?? 0;
      out[at] = ((data[y * (stride + 1) + 1 + x] ?? 0) + foretold) & 255;
    }
  }
  return out;
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [byLeft, byAbove, byCorner] = [
    Math.abs(guess - left),
    Math.abs(guess - above),
    Math.abs(guess - corner),
  ];
  return byLeft <= byAbove && byLeft <= byCorner ? left : byAbove <= byCorner ? above : corner;
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}
