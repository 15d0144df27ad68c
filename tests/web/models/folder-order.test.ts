import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countLabel } from '../../../web/src/features/folder/count-label.ts';
import { type Column, createPreferences } from '../../../web/src/platform/preferences.ts';
import type { Entry, FileEntry, Listing, Service } from '../../../web/src/platform/service/service.ts';
import { FOLDER_FILES as FILES } from '../samples.ts';
import { createFolderScene, settled, when } from './folder-scene.ts';
import { textOf } from './languages.ts';
import { refusal } from './service-errors.ts';

describe('The order of a folder', () => {
  /** Replaces metadata of the listed files. */
  const withMetadata =
    (metadata: (name: string) => Partial<Pick<FileEntry, 'contentType' | 'modified'>>) =>
    (service: Service): Partial<Service> => ({
      async list(...args) {
        const listing = await service.list(...args);
        const entries = listing.entries.map((entry) =>
          entry.type === 'file' ? { ...entry, ...metadata(entry.name) } : entry,
        );
        return { ...listing, entries };
      },
    });

  it('puts folders first, and compares numbers in names by their value', async () => {
    const { shown } = await createFolderScene({ files: FILES });
    assert.deepEqual(shown(), [
      'album',
      'Music',
      'Änderung.md',
      'file 1.txt',
      'file 2.txt',
      'file 10.txt',
      'zebra.bin',
    ]);
  });

  it('follows each column in both directions, and compares equal files by name', async () => {
    const types = new Map([
      ['file 1.txt', 'text/plain'],
      ['file 2.txt', 'text/plain'],
      ['file 10.txt', 'text/csv'],
      ['Änderung.md', 'text/markdown'],
      ['zebra.bin', 'application/octet-stream'],
    ]);
    const override = withMetadata((name) => ({
      contentType: types.get(name) ?? '',
      modified: name === 'zebra.bin' ? null : `2026-01-0${name.length % 10}T00:00:00.000Z`,
    }));
    const { shown, preferences } = await createFolderScene({ files: FILES, override });
    const inOrder = (by: Column, descending: boolean) => {
      preferences.order.value = { by, descending };
      return shown();
    };
    const folders = ['album', 'Music'];
    for (const [by, ascending, descending] of [
      [
        'name',
        [...folders, 'Änderung.md', 'file 1.txt', 'file 2.txt', 'file 10.txt', 'zebra.bin'],
        ['Music', 'album', 'zebra.bin', 'file 10.txt', 'file 2.txt', 'file 1.txt', 'Änderung.md'],
      ],
      [
        'size',
        [...folders, 'Änderung.md', 'file 1.txt', 'file 2.txt', 'file 10.txt', 'zebra.bin'],
        [...folders, 'zebra.bin', 'file 10.txt', 'file 1.txt', 'file 2.txt', 'Änderung.md'],
      ],
      [
        'type',
        [...folders, 'zebra.bin', 'file 10.txt', 'Änderung.md', 'file 1.txt', 'file 2.txt'],
        [...folders, 'file 1.txt', 'file 2.txt', 'Änderung.md', 'file 10.txt', 'zebra.bin'],
      ],
      [
        'modified',
        [...folders, 'zebra.bin', 'file 1.txt', 'file 2.txt', 'Änderung.md', 'file 10.txt'],
        [...folders, 'Änderung.md', 'file 10.txt', 'file 1.txt', 'file 2.txt', 'zebra.bin'],
      ],
    ] as const) {
      assert.deepEqual([by, inOrder(by, false)], [by, ascending]);
      assert.deepEqual([by, inOrder(by, true)], [by, descending]);
    }
  });

  it('is stored in the browser, and falls back to the default if the stored value is invalid', () => {
    const stored = new Map<string, string>();
    const storage = {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => void stored.set(key, value),
    } as unknown as Storage;
    const preferences = createPreferences(storage);
    preferences.order.value = { by: 'size', descending: true };
    preferences.view.value = 'grid';
    preferences.theme.value = 'dark';
    preferences.language.value = 'zh-Hans';
    const again = createPreferences(storage);
    assert.deepEqual(again.order.value, { by: 'size', descending: true });
    assert.deepEqual([again.view.value, again.theme.value, again.language.value], ['grid', 'dark', 'zh-Hans']);

    for (const invalid of ['', 'null', '[1]', '{"by":"colour","descending":"yes","view":7,"characterKeys":"no"}']) {
      stored.set('holdall', invalid);
      const { order, view, characterKeys } = createPreferences(storage);
      assert.deepEqual(
        [order.value, view.value, characterKeys.value],
        [{ by: 'name', descending: false }, 'list', true],
        invalid,
      );
    }
  });
});

describe('The filter of a folder', () => {
  it('finds names with all of its words, ignoring case and accents', async () => {
    const { folder, shown } = await createFolderScene({ files: FILES });
    for (const [filter, expected] of [
      ['ANDER', ['Änderung.md']],
      ['änd', ['Änderung.md']],
      ['  ', ['album', 'Music', 'Änderung.md', 'file 1.txt', 'file 2.txt', 'file 10.txt', 'zebra.bin']],
      ['txt 1', ['file 1.txt', 'file 10.txt']],
      ['mu', ['Music']],
      ['nothing of this name', []],
    ] as const) {
      folder.filter.value = filter;
      assert.deepEqual([filter, shown()], [filter, expected]);
      assert.equal(folder.count.value, 7);
    }
  });

  it('is cleared when another folder opens', async () => {
    const { folder, shown } = await createFolderScene({ files: FILES });
    folder.filter.value = 'mu';
    folder.open('Music/');
    await settled(folder);
    assert.deepEqual(shown(), ['live', 'song.mp3']);
  });
});

describe('A selection', () => {
  it('changes by clicks with Ctrl and Shift', async () => {
    const { selection, selected } = await createFolderScene({ files: FILES });
    selection.only('Music/');
    assert.deepEqual(selected(), ['Music/']);
    selection.extendTo('file 2.txt');
    assert.deepEqual(selected(), ['Music/', 'Änderung.md', 'file 1.txt', 'file 2.txt']);
    selection.toggle('file 1.txt');
    assert.deepEqual(selected(), ['Music/', 'Änderung.md', 'file 2.txt']);
    // A range begins at the last click, and replaces the selection unless the user holds Ctrl.
    selection.extendTo('zebra.bin', true);
    assert.deepEqual(selected(), ['Music/', 'Änderung.md', 'file 1.txt', 'file 2.txt', 'file 10.txt', 'zebra.bin']);
    selection.extendTo('Änderung.md');
    assert.deepEqual(selected(), ['Änderung.md', 'file 1.txt']);
    selection.clear();
    assert.deepEqual(selected(), []);
    selection.all();
    assert.equal(selection.count.value, 7);
  });

  it('loses entries that a filter hides, also when they are visible again', async () => {
    const { folder, selection, selected } = await createFolderScene({ files: FILES });
    selection.set(['file 1.txt', 'zebra.bin']);
    folder.filter.value = 'zebra';
    assert.deepEqual(selected(), ['zebra.bin']);
    folder.filter.value = '';
    assert.deepEqual(selected(), ['zebra.bin']);
  });

  it('is cleared when another folder opens, also after returning', async () => {
    const { folder, selection, selected } = await createFolderScene({ files: FILES });
    selection.only('zebra.bin');
    folder.open('Music/');
    await settled(folder);
    assert.deepEqual(selected(), []);
    folder.open('');
    await settled(folder);
    assert.ok(folder.entryOf('zebra.bin'));
    assert.deepEqual(selected(), []);
  });
});

describe('A folder that failed to load', () => {
  it('loads when the service has created it', async () => {
    const stored = new Set<string>();
    const override = (service: Service): Partial<Service> => ({
      async list(path, options) {
        if (path === '') return service.list(path, options);
        if (!stored.has(path)) throw refusal('not-found', '');
        return { success: true, prefix: path, entries: [] };
      },
    });
    const { folder } = await createFolderScene({ files: { 'a.txt': 'a' }, override });
    const creating = folder.begin({ added: [{ type: 'folder', path: 'new/', name: 'new' }] });
    folder.open('new/');
    await when(() => folder.state.value === 'failed');
    assert.equal(folder.problem.value?.status, 404);
    stored.add('new/');
    creating.commit();
    await settled(folder);
    assert.deepEqual([folder.state.value, folder.problem.value, folder.entries.value], ['ready', null, []]);
  });
});

describe('A folder of 100,000 files', () => {
  const COUNT = 100_000;
  const PAGE = 1_000;
  const nameOf = (number: number) => `entry ${number}.txt`;

  /** Lists the files in pages, sorted by their bytes as in stores. Waits for `released` before the second page. */
  const manyFiles = (released?: Promise<void>): Partial<Service> => {
    const names = Array.from({ length: COUNT }, (_, index) => nameOf(index)).toSorted();
    return {
      async list(prefix, { cursor = '0' } = {}): Promise<Listing> {
        const begin = Number(cursor);
        if (begin > 0) await released;
        const entries = names.slice(begin, begin + PAGE).map(
          (name): Entry => ({
            type: 'file',
            path: name,
            name,
            size: name.length,
            modified: null,
            contentType: 'text/plain',
            etag: '',
          }),
        );
        const end = begin + PAGE;
        return { success: true, prefix, entries, ...(end < COUNT && { cursor: String(end) }) };
      },
    };
  };

  it('shows its first page immediately, and later all entries in order', async () => {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const { folder, shown, preferences } = await createFolderScene({ override: () => manyFiles(promise) });
    assert.deepEqual([shown().length, folder.listing.value], [PAGE, 'partial']);
    release();
    await settled(folder);
    // A difference of two lists of this length takes minutes to print.
    const firstWrong = shown().findIndex((name, index) => name !== nameOf(index));
    assert.deepEqual([shown().length, firstWrong], [COUNT, -1]);
    preferences.order.value = { by: 'size', descending: true };
    assert.deepEqual([shown().at(0), shown().at(-1)], [nameOf(10_000), nameOf(9)]);
  });

  it('shows how many items are loaded, also when a later page can’t be read', async () => {
    const text = await textOf('en');
    const { promise, reject } = Promise.withResolvers<void>();
    const { folder } = await createFolderScene({ override: () => manyFiles(promise) });
    assert.equal(countLabel(folder, text), 'Loading… 1,000 items');
    reject(refusal('store-unreachable', 'The disk does not respond.'));
    await when(() => folder.problem.value !== null);
    assert.deepEqual([folder.state.value, countLabel(folder, text)], ['ready', 'Showing the first 1,000 items.']);
    const { folder: complete } = await createFolderScene({ files: FILES });
    assert.equal(countLabel(complete, text), '7 items');
  });

  it('can be selected from the first to the last file', async () => {
    const { folder, selection, selected } = await createFolderScene({ override: () => manyFiles() });
    await settled(folder);
    selection.only(nameOf(0));
    selection.extendTo(nameOf(COUNT - 1));
    assert.equal(selection.count.value, COUNT);
    assert.deepEqual([selected().at(0), selected().at(-1)], [nameOf(0), nameOf(COUNT - 1)]);
    selection.only(nameOf(0));
    assert.deepEqual(selected(), [nameOf(0)]);
  });
});
