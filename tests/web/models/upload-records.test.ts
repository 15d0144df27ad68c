import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../testing/until.ts';
import { type FoundUploads, type UploadRecord, UploadRecords } from '../../../web/src/model/uploads/upload-records.ts';
import type { PageIdentity } from '../../../web/src/platform/page-locks.ts';
import type { RecordStore } from '../../../web/src/platform/record-store.ts';
import { fileItem } from './upload-items.ts';

/** The storage of a browser, and its pages. */
function createBrowser() {
  const stored = new Map<string, UploadRecord>();
  const waiting = new Map<string, (() => Promise<void>)[]>();
  const ended = new Set<string>();
  let puts = 0;
  const store: RecordStore<UploadRecord> = {
    all: async () => [...stored.values()],
    async put(records) {
      puts++;
      for (const record of records) stored.set(record.id, structuredClone(record));
    },
    async remove(ids) {
      for (const id of ids) stored.delete(id);
    },
  };
  const open = (id: string, user: string | null = null) => {
    const page: PageIdentity = {
      id,
      whenEnded(other, work) {
        if (ended.has(other)) void work();
        else waiting.set(other, [...(waiting.get(other) ?? []), work]);
      },
    };
    return new UploadRecords(Promise.resolve(store), page, () => JSON.stringify(['https://host/', user]));
  };
  const end = async (id: string) => {
    ended.add(id);
    // One after another, as locks do.
    for (const work of waiting.get(id) ?? []) await work();
  };
  const names = () => [...stored.values()].flatMap(({ uploads }) => uploads.map(({ name }) => name));
  return { stored, open, end, names, puts: () => puts, waiting: (id: string) => waiting.get(id)?.length ?? 0 };
}

/** Records what a page finds. */
function watch(records: UploadRecords): FoundUploads[] {
  const all: FoundUploads[] = [];
  void records.find(async (found) => void all.push(...found));
  return all;
}

const namesIn = (found: readonly FoundUploads[]) => found.flatMap(({ uploads }) => uploads.map(({ name }) => name));

describe('The records of unfinished uploads', () => {
  it('have each file until it needs no more work, with the decisions of the user', async () => {
    const browser = createBrowser();
    const records = browser.open('page');
    const items = Array.from({ length: 450 }, (_, index) => fileItem(`${index}.txt`, { size: index }));
    records.add(items);
    await until('the files are remembered', () => browser.names().length === 450);
    assert.equal(browser.stored.size, 3);
    for (const item of items.slice(1)) records.forget(item);
    await until('one file is left', () => browser.stored.size === 1);
    assert.deepEqual(browser.names(), ['0.txt']);
    // Many changes are written together.
    assert.ok(browser.puts() < 10, `${browser.puts()} writes`);
    const [first] = items;
    assert.ok(first);
    first.storedName.value = '0 (2).txt';
    first.mayRename = true;
    records.update(first);
    await until('the decision is remembered', () => [...browser.stored.values()][0]?.uploads[0]?.mayRename === true);
    assert.equal([...browser.stored.values()][0]?.uploads[0]?.storedName, '0 (2).txt');
    records.forget(first);
    await until('nothing is left', () => browser.stored.size === 0);
  });

  it('are found by one page of the same user, once the page that had the uploads has ended', async () => {
    const browser = createBrowser();
    browser.open('first', 'ann').add([fileItem('a.txt')]);
    browser.open('other', 'bob').add([fileItem('b.txt')]);
    await until('both are remembered', () => browser.stored.size === 2);
    const bob = watch(browser.open('second', 'bob'));
    const [ann, annAgain] = ['third', 'fourth'].map((id) => watch(browser.open(id, 'ann')));
    assert.ok(ann && annAgain);
    await until(
      'all wait for the ends of these pages',
      () => browser.waiting('first') === 2 && browser.waiting('other') === 1,
    );
    assert.deepEqual([ann, annAgain, bob], [[], [], []]);
    await browser.end('first');
    assert.deepEqual(namesIn([...ann, ...annAgain]), ['a.txt']);
    assert.deepEqual(bob, []);
    await until('the found one is no longer remembered', () => browser.stored.size === 1);
    await browser.end('other');
    assert.deepEqual(namesIn(bob), ['b.txt']);
  });

  it('are forgotten after a month, and not required for uploads', async () => {
    const browser = createBrowser();
    const old = browser.open('old');
    old.add([fileItem('old.txt')], Date.now() - 31 * 24 * 60 * 60_000);
    await until('it is remembered', () => browser.stored.size === 1);
    watch(browser.open('new'));
    await until('it is forgotten', () => browser.stored.size === 0);

    const page: PageIdentity = { id: 'page', whenEnded: () => assert.fail('There is no other page.') };
    const broken = new UploadRecords(Promise.reject(new Error('No storage.')), page, () => '');
    const item = fileItem('a.txt');
    broken.add([item]);
    broken.forget(item);
    await broken.find(async () => assert.fail('Nothing was remembered.'));
  });
});
