import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { it } from 'node:test';
import type * as Shares from '../../web/src/platform/shares.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from './browser.ts';
import { DESKTOP } from './open-site.ts';
import { startSite } from './site.ts';

export const needs: readonly Need[] = ['browser'];

// In a page without the application, because only browsers have IndexedDB.

it('Shares wait for the user who saw them first, for a day, and never replace each other', async (t) => {
  const site = await startSite(t, { store: 'disk' });
  const page = await openPage(t, { ...DESKTOP, url: `${site.url}-/session` });
  const source = await readFile(new URL('../../web/src/platform/shares.ts', import.meta.url), 'utf8');
  const empty = `${site.url}empty`;
  await page.route(empty, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
  await page.goto(empty);
  const found = await page.evaluate(async (module) => {
    const url = URL.createObjectURL(new Blob([module], { type: 'text/javascript' }));
    const shares = (await import(url)) as typeof Shares;
    const { storeShare, readShare, storeShareState, savedShares, deleteSharesOfOthers, deleteShares } = shares;
    const root = `${window.location.origin}/`;
    const day = 24 * 60 * 60 * 1000;
    const store = (id: string, receivedAt = Date.now()) =>
      storeShare(root, { id, receivedAt, files: [new File([id], 'a.txt')], title: '', text: '', url: '' });
    const read = async (id: string, username: string | null) => (await readShare(root, id, username))?.files[0]?.text();

    const stored = [];
    for (let number = 1; number <= 11; number++) stored.push(await store(String(number)));
    const owners = [];
    for (const name of [null, 'ann', 'bob', null, 'ann']) owners.push(await read('1', name));
    for (const id of ['1', '2'])
      await storeShareState(root, { id, username: id === '1' ? 'ann' : null, folder: 'docs/' });
    const saved = [await savedShares(root, 'ann'), await savedShares(root, 'bob')];
    await deleteSharesOfOthers(root, 'bob');
    const remaining = [await read('1', 'ann'), await read('2', null), await read('3', null)];
    await deleteShares(root);
    const afterSignOut = [await read('2', null), await store('new')];
    await store('old', Date.now() - day - 1000);
    const expired = await read('old', null);
    for (let number = 1; number <= 9; number++) await store(String(number));
    return { stored, owners, saved, remaining, afterSignOut, expired, last: await read('9', null) };
  }, stripTypeScriptTypes(source));
  assert.deepEqual(found, {
    stored: [...Array.from({ length: 10 }, () => true), false],
    owners: ['1', '1', undefined, undefined, '1'],
    saved: [[{ id: '1', username: 'ann', folder: 'docs/' }], []],
    remaining: [undefined, '2', '3'],
    afterSignOut: [undefined, true],
    expired: undefined,
    last: '9',
  });
});
