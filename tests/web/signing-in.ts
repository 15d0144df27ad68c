import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openPage, type Visit } from './browser.ts';
import { button } from './elements.ts';
import { DESKTOP } from './open-site.ts';
import { type Site, type SiteAccess, type SiteOptions, startSite } from './site.ts';

export const ANN = { name: 'ann', password: 'correct horse 🔋' } as const;
export const BOB = { name: 'bob@example.org', password: '"> hunter2' } as const;

export const ALL = ['read', 'write', 'manage'] as const;
export const REFUSED = /401 \(Unauthorized\)/;

/** A user who can only read photos. */
export const EVE = { name: 'eve', password: 'only photos' } as const;

/** Ann may do everything, and others what the test says. */
export const accessOf = (...grants: SiteAccess['grants']): SiteAccess => ({
  people: { [ANN.name]: ANN.password, [BOB.name]: BOB.password, [EVE.name]: EVE.password },
  grants: [{ folder: '/', to: { person: ANN.name }, rights: ALL }, ...grants],
});

/** The names of what a folder of a site on disk really holds, in order. */
export const listed = async ({ root = '' }: Site, folder: string) => (await readdir(join(root, folder))).toSorted();

/** The access of most tests, which share a service. */
const ACCESS = accessOf({ folder: '/photos/', to: { person: EVE.name }, rights: ['read'] });

const FILES = { 'photos/cat.txt': 'meow', 'photos/dog.txt': 'woof', 'photos/2026/': '' };

/** Opens a place of a new site, where nobody is signed in. */
export async function visit(
  t: TestContext,
  place: string,
  { access = ACCESS, files = FILES, settings, isOwn = false, ...more }: Partial<Visit & SiteOptions> = {},
): Promise<{ site: Site; page: Page }> {
  const site = await startSite(t, { store: 'disk', files, access, isOwn, ...(settings && { settings }) });
  const page = await openPage(t, {
    ...DESKTOP,
    expectedErrors: [REFUSED],
    isCacheEmpty: true,
    ...more,
    url: `${site.url}${place}`,
  });
  return { site, page };
}

export const title = (page: Page) => page.getByRole('heading', { level: 1, name: 'Sign in' });
export const dialog = (page: Page) => page.getByRole('dialog', { name: 'Sign in' });
export const account = (page: Page, { name }: { name: string } = ANN) =>
  page.getByRole('button', { name: new RegExp(`Signed in as .*${name}`) });

export async function fill(page: Page, { name, password }: { name?: string; password: string }): Promise<void> {
  if (name !== undefined) await page.getByLabel('Username', { exact: true }).fill(name);
  await page.getByLabel('Password').fill(password);
}

/** Signs in on the page that came in the place of what was asked for. */
export async function signIn(page: Page, who: { name: string; password: string } = ANN): Promise<void> {
  await title(page).waitFor();
  await fill(page, who);
  await button(page, 'Sign in').click();
  await account(page, who).waitFor();
}

export async function signOut(page: Page): Promise<void> {
  await account(page).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
}

/** Fails where what was typed as a password is still anywhere in the page, or in its address. */
export async function assertForgotten(page: Page, password: string): Promise<void> {
  const kept = await page.evaluate(() => ({
    html: document.documentElement.outerHTML,
    fields: [...document.querySelectorAll('input')].map(({ value }) => value),
    address: window.location.href,
    state: JSON.stringify(history.state),
    storage: [localStorage, sessionStorage].flatMap((storage) => Object.entries(storage).flat()).join(),
    cookies: document.cookie,
  }));
  for (const [where, text] of Object.entries(kept)) {
    assert.ok(!String(text).includes(password), `The password is in the ${where}.`);
    assert.ok(!String(text).includes(encodeURIComponent(password)), `The password is in the ${where}.`);
  }
  assert.equal(kept.cookies, '', 'No script can read the session.');
}
