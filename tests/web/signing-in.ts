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

/** Returns an access file that grants everything to Ann, and additional grants. */
export const accessOf = (...grants: SiteAccess['grants']): SiteAccess => ({
  people: { [ANN.name]: ANN.password, [BOB.name]: BOB.password, [EVE.name]: EVE.password },
  grants: [{ folder: '/', to: { person: ANN.name }, rights: ALL }, ...grants],
});

/** Returns the sorted names in a folder on the disk. */
export const listed = async ({ root = '' }: Site, folder: string) => (await readdir(join(root, folder))).toSorted();

/** The access of most tests, which share a service. */
const ACCESS = accessOf({ folder: '/photos/', to: { person: EVE.name }, rights: ['read'] });

const FILES = { 'photos/cat.txt': 'meow', 'photos/dog.txt': 'woof', 'photos/2026/': '' };

/** Opens a path of a new site, without a session. */
export async function visit(
  t: TestContext,
  path: string,
  { access = ACCESS, files = FILES, settings, isOwn = false, ...more }: Partial<Visit & SiteOptions> = {},
): Promise<{ site: Site; page: Page }> {
  const site = await startSite(t, { store: 'disk', files, access, isOwn, ...(settings && { settings }) });
  const page = await openPage(t, {
    ...DESKTOP,
    expectedErrors: [REFUSED],
    isCacheEmpty: true,
    ...more,
    url: `${site.url}${path}`,
  });
  return { site, page };
}

export const title = (page: Page) => page.getByRole('heading', { level: 1, name: 'Sign in' });
export const dialog = (page: Page) => page.getByRole('dialog', { name: 'Sign in' });
export const account = (page: Page, { name }: { name: string } = ANN) =>
  page.getByRole('button', { name: new RegExp(`Signed in as .*${name}`) });

export async function fill(page: Page, { name, password }: { name?: string; password: string }): Promise<void> {
  if (name !== undefined) await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('Password').fill(password);
}

/** Signs in on the page that the service returned instead of the requested one. */
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

/** Fails if a typed password is still in the page, in its storage or in its URL. */
export async function assertForgotten(page: Page, password: string): Promise<void> {
  const exposed = await page.evaluate(() => ({
    html: document.documentElement.outerHTML,
    fields: [...document.querySelectorAll('input')].map(({ value }) => value),
    address: window.location.href,
    state: JSON.stringify(history.state),
    storage: [localStorage, sessionStorage].flatMap((storage) => Object.entries(storage).flat()).join(),
    cookies: document.cookie,
  }));
  for (const [where, text] of Object.entries(exposed)) {
    assert.ok(!String(text).includes(password), `The password is in the ${where}.`);
    assert.ok(!String(text).includes(encodeURIComponent(password)), `The password is in the ${where}.`);
  }
  assert.equal(exposed.cookies, '', 'No script can read the session.');
}
