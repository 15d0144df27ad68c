import assert from 'node:assert/strict';

/*
 * Changes HEIC files of heif-enc (ISO/IEC 14496-12 and 23008-12), which can't write rotations: with one property association
 * per byte, and item locations of four bytes after the box `meta`.
 */

interface Place {
  /** The position of the box. */
  readonly start: number;
  readonly end: number;
  /** The position of its content. */
  readonly content: number;
}

/** Finds a box by the names of the boxes that contain it. */
function find(bytes: Buffer, ...[name, ...rest]: readonly string[]): Place {
  const within = (start: number, end: number, wanted: string, then: readonly string[]): Place => {
    for (let position = start; position < end; position += bytes.readUInt32BE(position)) {
      const box = { start: position, end: position + bytes.readUInt32BE(position), content: position + 8 };
      if (bytes.toString('latin1', position + 4, position + 8) !== wanted) continue;
      const [next, ...others] = then;
      // `meta` has a version and flags before its boxes.
      return next === undefined ? box : within(box.content + (wanted === 'meta' ? 4 : 0), box.end, next, others);
    }
    return assert.fail(`no box ${wanted}`);
  };
  return within(0, bytes.length, name ?? '', rest);
}

/** Returns the file with the property `irot`: viewers must rotate its first item by a quarter turn, counterclockwise. */
export function withRotation(heic: Buffer): Buffer {
  const irot = Buffer.concat([Buffer.from([0, 0, 0, 9]), Buffer.from('irot'), Buffer.from([1])]);
  const bytes = Buffer.from(heic);
  const ipco = find(bytes, 'meta', 'iprp', 'ipco');
  const ipma = find(bytes, 'meta', 'iprp', 'ipma');
  let properties = 0;
  for (let at = ipco.content; at < ipco.end; at += bytes.readUInt32BE(at)) properties++;
  // Version, flags and number of items; then the ID of the first item, and its number of properties.
  const countAt = ipma.content + 10;
  const listEnd = countAt + 1 + bytes.readUInt8(countAt);
  bytes.writeUInt8(bytes.readUInt8(countAt) + 1, countAt);
  const grow = (place: Place, by: number) => bytes.writeUInt32BE(bytes.readUInt32BE(place.start) + by, place.start);
  const places = [find(bytes, 'meta'), find(bytes, 'meta', 'iprp')];
  const iloc = find(bytes, 'meta', 'iloc');
  for (const place of places) grow(place, irot.length + 1);
  grow(ipco, irot.length);
  grow(ipma, 1);
  assert.equal(bytes.readUInt16BE(iloc.content), 0, 'the version of the locations is 0');
  const items = bytes.readUInt16BE(iloc.content + 6);
  const hasBase = (bytes.readUInt8(iloc.content + 5) >> 4) / 4;
  for (let item = 0; item < items; item++) {
    // The ID of the item, data reference, base offset, number of extents, and one extent of offset and length.
    const offset = iloc.content + 8 + item * (14 + 4 * hasBase) + 6 + 4 * hasBase;
    bytes.writeUInt32BE(bytes.readUInt32BE(offset) + irot.length + 1, offset);
  }
  const association = Buffer.from([0x80 | (properties + 1)]);
  return Buffer.concat([
    bytes.subarray(0, ipco.end),
    irot,
    bytes.subarray(ipco.end, listEnd),
    association,
    bytes.subarray(listEnd),
  ]);
}
