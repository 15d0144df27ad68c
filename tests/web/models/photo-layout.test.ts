import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LayoutInput, targetIndex } from '../../../web/src/features/folder/grid-layout.ts';
import { layOutPhotos } from '../../../web/src/features/folder/photo-layout.ts';
import { sortByTimes } from '../../../web/src/model/folder/order.ts';
import type { Column } from '../../../web/src/platform/preferences.ts';
import type { Entry } from '../../../web/src/platform/service/service.ts';

const INPUT: LayoutInput = {
  width: 1024,
  height: 800,
  isNarrow: false,
  rem: 16,
  rowHeight: 40,
  columns: { hidden: [], widths: {} },
  tileSize: 2,
};

const fileEntry = (name: string, contentType = 'image/jpeg'): Entry => ({
  type: 'file',
  name,
  path: name,
  size: 1000,
  contentType,
  etag: name,
  modified: '2026-01-01T00:00:00.000Z',
});

const folderEntry = (name: string): Entry => ({ type: 'folder', name, path: `${name}/` });

/** Lays out photos with these dates. Their aspect ratios repeat. */
function layOut(dates: readonly string[], others: { folders?: number; files?: number } = {}, input = INPUT) {
  const folders = Array.from({ length: others.folders ?? 0 }, (_, index) => folderEntry(`folder ${index}`));
  const photos = dates.map((_, index) => fileEntry(`${index}.jpg`));
  const files = Array.from({ length: others.files ?? 0 }, (_, index) => fileEntry(`${index}.txt`, 'text/plain'));
  const aspects = [3 / 2, 2 / 3, 4 / 3, 1, 16 / 9, 3];
  const layout = layOutPhotos([...folders, ...photos, ...files], input, {
    aspectOf: (entry) =>
      entry.path.endsWith('.jpg') ? aspects[Number.parseInt(entry.name, 10) % aspects.length] : undefined,
    timeOf: (entry) => dates[Number.parseInt(entry.name, 10)]?.replace(/(?<=.)$/, 'T12:00:00') ?? '',
  });
  const rows = Array.from({ length: layout.rows.count }, (_, row) => row);
  return { layout, rows, headers: rows.flatMap((row) => layout.photoRow(row).header ?? []) };
}

const days = (count: number) =>
  Array.from({ length: count }, (_, index) => `2026-03-${String(1 + Math.floor(index / 20)).padStart(2, '0')}`);

describe('The view of photos', () => {
  it('fills rows with photos in their natural aspect ratios, in order', () => {
    const { layout, rows } = layOut(days(20));
    assert.deepEqual(rows.flatMap((row) => layout.entriesOf(row)[0])[0], 0);
    for (const row of rows) {
      const [first, end] = layout.entriesOf(row);
      assert.equal(layout.rowOf(first), row);
      assert.equal(layout.rowOf(end - 1), row);
      assert.equal(layout.rows.rowAt(layout.rows.topOf(row)), row);
      assert.equal(layout.rows.rowAt(layout.rows.topOf(row + 1) - 1), row);
      const last = layout.boxOf(end - 1);
      assert.ok(last.end <= 1000.5, `row ${row} ends at ${last.end}`);
      // Only the last row does not fill the line.
      if (row < rows.length - 1) assert.ok(last.end > 999.5, `row ${row} ends at ${last.end}`);
    }
    const heights = [0, 1, 2].map((index) => {
      const { start, end, top, bottom } = layout.boxOf(index);
      return [(end - start) / (bottom - top - 4), [3 / 2, 2 / 3, 4 / 3][index]] as const;
    });
    for (const [actual, expected = 0] of heights)
      assert.ok(Math.abs(actual - expected) < 0.03, `${actual} ${expected}`);
  });

  it('has a header for each day, or for each month if there are more than two, or if the days have few photos', () => {
    assert.deepEqual(layOut(days(45)).headers, [
      { date: '2026-03-01', isMonth: false },
      { date: '2026-03-02', isMonth: false },
      { date: '2026-03-03', isMonth: false },
    ]);
    const sparse = Array.from(
      { length: 20 },
      (_, index) => `2026-03-${String(30 - Math.floor(index / 4)).padStart(2, '0')}`,
    );
    assert.deepEqual(layOut(sparse).headers, [{ date: '2026-03-30', isMonth: true }]);
    const months = ['2026-03-09', '2026-03-02', '2026-02-20', '2025-12-31', ''];
    assert.deepEqual(
      layOut(months).headers.map((header) => header !== 'others' && header.date),
      ['2026-03-09', '2026-02-20', '2025-12-31', ''],
    );
  });

  it('shows folders above the photos, and other files below them', () => {
    const { layout, rows, headers } = layOut(days(3), { folders: 7, files: 9 });
    const kinds = rows.map((row) => layout.photoRow(row).kind);
    assert.deepEqual([...new Set(kinds)], ['folders', 'photos', 'others']);
    assert.equal(headers.at(-1), 'others');
    assert.equal(layout.rowOf(18), rows.length - 1);
  });

  it('moves up and down to the nearest photo', () => {
    const { layout } = layOut(days(20));
    const keys = { ...layout, visibleRows: 3, isRightToLeft: false };
    const [, end] = layout.entriesOf(0);
    assert.equal(targetIndex('ArrowDown', 0, keys), end);
    const below = targetIndex('ArrowDown', end - 1, keys) ?? 0;
    assert.equal(layout.rowOf(below), 1);
    const distance = (index: number) => Math.abs(layout.middleOf(index) - layout.middleOf(end - 1));
    const [first, last] = layout.entriesOf(1);
    const distances = Array.from({ length: last - first }, (_, index) => distance(first + index));
    assert.equal(distance(below), Math.min(...distances));
    assert.equal(targetIndex('ArrowRight', end - 1, keys), end);
  });

  it('lays out an empty folder, a tiny window and 20,000 photos', () => {
    assert.equal(layOut([]).layout.rows.count, 0);
    assert.ok(layOut(days(3), {}, { ...INPUT, width: 0 }).layout.rows.height > 0);
    const many = layOut(Array.from({ length: 20_000 }, () => '2026-03-01'));
    assert.equal(many.layout.rowOf(19_999), many.rows.length - 1);
  });
});

it('Photos are sorted by time between folders and other files, the newest first unless the oldest are chosen', () => {
  const entries = [folderEntry('a'), fileEntry('b.jpg'), fileEntry('c.txt', 'text/plain'), fileEntry('d.jpg')];
  const times = new Map([
    ['b.jpg', '2026-01-01T00:00:00'],
    ['d.jpg', '2026-01-02T00:00:00'],
  ]);
  const namesBy = (by: Column, descending: boolean) =>
    sortByTimes(entries, times, { by, descending }).map(({ name }) => name);
  assert.deepEqual(namesBy('name', false), ['a', 'd.jpg', 'b.jpg', 'c.txt']);
  assert.deepEqual(namesBy('modified', true), ['a', 'd.jpg', 'b.jpg', 'c.txt']);
  assert.deepEqual(namesBy('modified', false), ['a', 'b.jpg', 'd.jpg', 'c.txt']);
});
