import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OPERATIONS } from '../../../src/http/api-operations.ts';
import { createUrls } from '../../../web/src/platform/service/urls.ts';
import { shownName } from '../../../web/src/platform/text/names.ts';
import { HOSTILE_NAMES } from '../samples.ts';

/** First segments of the service's routes that have more segments. */
const ROUTES = new Set(Object.keys(OPERATIONS).flatMap((operation) => /^\S+ \/([^/{]+)\//.exec(operation)?.[1] ?? []));

describe('The URL of a page', () => {
  for (const root of ['https://files.example/', 'https://files.example/team/files/']) {
    const urls = createUrls(new URL(root));
    const routeOf = (href: string) => urls.routeOf(new URL(href));
    const view = null;

    it(`contains the folder and the preview, with any names, or another list (${root})`, () => {
      for (const name of [...HOSTILE_NAMES, ...ROUTES, 'file 1', 'Änderung', '100%', 'a+b', 'a\\b', ';=@:', '...']) {
        for (const folder of [`${name}/`, `${name}/${name}/`, `outer/${name}/`]) {
          assert.deepEqual(routeOf(urls.page(folder)), { folder, preview: null, view }, JSON.stringify(folder));
          const preview = folder + name;
          assert.deepEqual(routeOf(urls.page(folder, preview)), { folder, preview, view }, JSON.stringify(preview));
        }
        assert.deepEqual(routeOf(urls.page('', name)), { folder: '', preview: name, view });
      }
      assert.deepEqual(routeOf(urls.page('')), { folder: '', preview: null, view });
      assert.deepEqual(routeOf(urls.page('', null, 'trash')), { folder: '', preview: null, view: 'trash' });
      assert.deepEqual(routeOf(`${root}photos/?view=trash`), { folder: 'photos/', preview: null, view });
      assert.deepEqual(routeOf(urls.page('file/', null, 'links')), { folder: 'file/', preview: null, view: 'links' });
      assert.deepEqual(routeOf(`${root}photos/?view=links`), { folder: 'photos/', preview: null, view: 'links' });
      assert.deepEqual(routeOf(`${root}?view=other`), { folder: '', preview: null, view });
    });

    it(`has the folder in its path, except for folders with the name of a route (${root})`, () => {
      for (const name of HOSTILE_NAMES) {
        const { href, pathname, search, hash } = new URL(urls.page(`${name}/`));
        assert.equal(href.slice(root.length).split('/').length, 2, 'the name is one segment');
        assert.deepEqual([decodeURIComponent(pathname), search, hash], [`${new URL(root).pathname}${name}/`, '', '']);
      }
      for (const route of ROUTES) {
        assert.equal(urls.page(`${route}/a b/`), `${root}?prefix=${encodeURIComponent(route)}%2Fa+b%2F`);
        assert.equal(urls.page(`outer/${route}/`), `${root}outer/${route}/`);
        assert.equal(urls.page(`${route}s/`), `${root}${route}s/`);
      }
    });
  }

  it('is parsed without the final slash, and with invalid escape sequences', () => {
    const urls = createUrls(new URL('https://files.example/'));
    const folderOf = (path: string) => urls.routeOf(new URL(path, 'https://files.example/')).folder;
    assert.equal(folderOf('photos/2026'), 'photos/2026/');
    assert.equal(folderOf('?prefix=file/a'), 'file/a/');
    assert.equal(folderOf('100%/'), '100%/');
  });
});

describe('A displayed name', () => {
  it('makes invisible and direction-changing characters visible', () => {
    for (const [name, expected] of [
      ['rtl \u202etxt.exe', 'rtl ⟨U+202E⟩txt.exe'],
      ['\u2066a\u2069', '⟨U+2066⟩a⟨U+2069⟩'],
      [' \u200b', '⟨U+0020⟩⟨U+200B⟩'],
      ['re\u200bport', 're⟨U+200B⟩port'],
      ['re\u200dport\u200c', 're⟨U+200D⟩port⟨U+200C⟩'],
      ['re\u00adport\u2060\ufeff', 're⟨U+00AD⟩port⟨U+2060⟩⟨U+FEFF⟩'],
      ['a\u200e\u200f\u061c', 'a⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩'],
      [' report ', '⟨U+0020⟩report⟨U+0020⟩'],
      ['👩\u200d', '👩⟨U+200D⟩'],
      ['سلام\u200c', 'سلام⟨U+200C⟩'],
    ] as const) {
      assert.equal(shownName(name), expected);
    }
  });

  it('keeps the joiners of emoji and of scripts that need them', () => {
    for (const name of [
      'שלום 👩‍👧.txt',
      '👩🏽‍💻',
      '❤️‍🔥',
      '🏳️‍🌈',
      'می\u200cخواهم.txt',
      'क्\u200dष',
      'ന്\u200d.txt',
      'শ্\u200cর',
    ]) {
      assert.equal(shownName(name), name);
    }
  });

  it('is the name itself if the name does not deceive', () => {
    const changed = HOSTILE_NAMES.filter((name) => shownName(name) !== name);
    assert.deepEqual(changed, ['rtl \u202etxt.exe', 'zero\u200bwidth.txt']);
  });
});
