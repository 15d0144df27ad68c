import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPreferences } from '../../../web/src/platform/preferences.ts';

function openStorage() {
  const values = new Map<string, string>();
  const storage = {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
  } as unknown as Storage;
  return { values, storage };
}

it('Each folder keeps its view, and other folders have the last one that was chosen', () => {
  const { storage } = openStorage();
  const preferences = createPreferences(storage);
  const viewOf = (path: string, isAlbum = false, of = preferences) => {
    of.openFolder(path, isAlbum);
    return `${of.view.value} by ${of.order.value.by}`;
  };
  assert.equal(viewOf('a/'), 'list by name');
  preferences.view.value = 'grid';
  assert.equal(viewOf('b/'), 'grid by name');
  preferences.view.value = 'list';
  preferences.order.value = { by: 'size', descending: true };
  assert.equal(viewOf('a/'), 'grid by name');
  assert.equal(viewOf('c/'), 'list by size');

  // Photos are never the default.
  assert.equal(viewOf('album/', true), 'photos by size');
  assert.equal(viewOf('c/'), 'list by size');
  preferences.view.value = 'photos';
  assert.equal(viewOf('d/'), 'list by size');
  assert.equal(viewOf('c/'), 'photos by size');
  viewOf('album/', true);
  preferences.order.value = { by: 'modified', descending: false };
  assert.equal(viewOf('e/'), 'list by size');
  assert.equal(viewOf('album/', true), 'photos by modified');
  preferences.order.value = { by: 'size', descending: true };
  preferences.view.value = 'list';

  const reloaded = createPreferences(storage);
  assert.equal(reloaded.view.value, 'list');
  assert.equal(viewOf('album/', true, reloaded), 'list by size');
  assert.equal(viewOf('a/', false, reloaded), 'grid by name');
});

it('The views of at most 200 folders are remembered, and invalid ones are ignored', () => {
  const { values, storage } = openStorage();
  const preferences = createPreferences(storage);
  for (let index = 0; index < 210; index += 1) {
    preferences.openFolder(`${index}`, false);
    preferences.view.value = 'list';
    preferences.view.value = 'grid';
  }
  const remembered = Object.keys(JSON.parse(values.get('holdall-folders') ?? '{}'));
  assert.deepEqual([remembered.length, remembered[0], remembered.at(-1)], [200, '/10', '/209']);

  for (const stored of ['x', '[]', '{"/a": 1}', '{"/a": {"view": "x", "by": 1, "tileSize": 99}}']) {
    values.set('holdall-folders', stored);
    preferences.openFolder('a', false);
    assert.equal(preferences.tileSize.value, 2);
  }
});
