import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  centralHeader,
  centralHeaderBytes,
  descriptor,
  descriptorBytes,
  endBytes,
  endRecords,
  localHeader,
  localHeaderBytes,
  type ZipEntry,
} from '../../src/zip/format.ts';

const entryOf = (more: Partial<ZipEntry> = {}): ZipEntry => ({
  name: Buffer.from('a/ü.txt'),
  isFolder: false,
  size: 5,
  modified: Date.UTC(2026, 10, 25, 9, 30, 7) / 1000,
  ...more,
});

const GIB4 = 2 ** 32;

describe('The ZIP format', () => {
  it('has sizes that do not depend on the content', () => {
    for (const size of [0, 1, GIB4 - 2, GIB4 - 1, GIB4, 2 ** 45]) {
      for (const modified of [undefined, 0, -1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1]) {
        const entry = entryOf({ size, modified });
        assert.equal(localHeader(entry).length, localHeaderBytes(entry));
        assert.equal(descriptor(entry, 1).length, descriptorBytes(entry));
        for (const offset of [0, GIB4 - 2, GIB4 - 1, 2 ** 45]) {
          assert.equal(centralHeader(entry, { offset, crc: 1 }).length, centralHeaderBytes(entry, offset));
        }
      }
    }
    for (const directory of [
      { entries: 0, offset: 0, size: 0 },
      { entries: 0xfffe, offset: GIB4 - 2, size: GIB4 - 2 },
      { entries: 0xffff, offset: 0, size: 0 },
      { entries: 1, offset: GIB4 - 1, size: 0 },
      { entries: 1, offset: 0, size: GIB4 - 1 },
    ]) {
      assert.equal(endRecords(directory).length, endBytes(directory));
    }
  });

  it('uses Zip64 from 4 GiB and from 65,535 entries, and not below', () => {
    const isZip64 = (size: number, offset: number) =>
      centralHeader(entryOf({ size }), { offset, crc: 0 }).readUInt16LE(6) === 45;
    assert.equal(isZip64(GIB4 - 2, GIB4 - 2), false);
    assert.equal(isZip64(GIB4 - 1, 0), true);
    assert.equal(isZip64(0, GIB4 - 1), true);
    assert.equal(localHeader(entryOf({ size: GIB4 - 2 })).readUInt16LE(4), 20);
    assert.equal(localHeader(entryOf({ size: GIB4 - 1 })).readUInt16LE(4), 45);
    assert.equal(endRecords({ entries: 0xfffe, offset: 0, size: 0 }).length, 22);
    assert.equal(endRecords({ entries: 0xffff, offset: 0, size: 0 }).length, 98);
  });

  it('puts only the fields that need it into the Zip64 field of the directory', () => {
    const zip64Of = (size: number, offset: number) => {
      const header = centralHeader(entryOf({ size, modified: undefined }), { offset, crc: 0 });
      return header.subarray(46 + entryOf().name.length);
    };
    const [large, far] = [GIB4 * 3 + 1, GIB4 * 5 + 2];
    assert.deepEqual([...zip64Of(1, 1)], []);
    assert.equal(zip64Of(1, far).readBigUInt64LE(4), BigInt(far));
    assert.equal(zip64Of(1, far).length, 12);
    const both = zip64Of(large, far);
    assert.deepEqual(
      [4, 12, 20].map((at) => Number(both.readBigUInt64LE(at))),
      [large, large, far],
    );
  });

  it('writes the time of MS-DOS in UTC, within its range', () => {
    const timeOf = (modified: number | undefined) => {
      const header = localHeader(entryOf({ modified }));
      const [time, date] = [header.readUInt16LE(10), header.readUInt16LE(12)];
      return [1980 + (date >> 9), (date >> 5) & 15, date & 31, time >> 11, (time >> 5) & 63, (time & 31) * 2];
    };
    assert.deepEqual(timeOf(Date.UTC(2026, 10, 25, 9, 30, 7) / 1000), [2026, 11, 25, 9, 30, 6]);
    assert.deepEqual(timeOf(undefined), [1980, 1, 1, 0, 0, 0]);
    assert.deepEqual(timeOf(0), [1980, 1, 1, 0, 0, 0]);
    for (const year of [0, 1900, 1969, 1979]) {
      assert.deepEqual(timeOf(Date.UTC(year, 11, 31, 23, 59, 59) / 1000), [1980, 1, 1, 0, 0, 0], String(year));
    }
    assert.deepEqual(timeOf(Date.UTC(1980, 0, 1, 0, 0, 2) / 1000), [1980, 1, 1, 0, 0, 2]);
    assert.deepEqual(timeOf(2 ** 45), [2107, 12, 31, 23, 59, 58]);
  });

  it('has the exact time from 1901 to 2038 in the extended timestamp, and otherwise none', () => {
    const extraOf = (modified: number) => {
      const headers = [localHeader(entryOf({ modified })), centralHeader(entryOf({ modified }), { offset: 0, crc: 0 })];
      return headers.map((header, index) => [
        header.readUInt16LE(index === 0 ? 28 : 30),
        header.length < 9 || header.readUInt16LE(header.length - 9) !== 0x5455
          ? null
          : header.readInt32LE(header.length - 4),
      ]);
    };
    const both = (...extra: readonly [bytes: number, time: number | null]) => [extra, extra];
    for (const time of [-(2 ** 31), Date.UTC(1969, 6, 20) / 1000, -1, 0, Date.UTC(1979, 11, 31) / 1000, 2 ** 31 - 1]) {
      assert.deepEqual(extraOf(time), both(9, time));
    }
    for (const time of [-(2 ** 31) - 1, 2 ** 31, Date.UTC(9999, 0, 1) / 1000]) {
      assert.deepEqual(extraOf(time), both(0, null));
    }
  });

  it('has modes of files and folders, and the folder attribute of MS-DOS', () => {
    const attributes = (entry: ZipEntry) => centralHeader(entry, { offset: 0, crc: 0 }).readUInt32LE(38);
    assert.equal(attributes(entryOf()), 0o100644 * 0x10000);
    assert.equal(attributes(entryOf({ name: Buffer.from('a/'), isFolder: true, size: 0 })), 0o040755 * 0x10000 + 0x10);
  });

  it('has no data descriptor for a file without content', () => {
    const empty = entryOf({ size: 0 });
    assert.equal(descriptor(empty, 0).length, 0);
    assert.equal(localHeader(empty).readUInt16LE(6), 0x0800);
    assert.equal(localHeader(entryOf()).readUInt16LE(6), 0x0808);
  });
});
