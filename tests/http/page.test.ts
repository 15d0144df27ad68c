import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { renderDocument } from '../../src/http/page/document.ts';
import { BUILT_PAGE, PageNotBuilt, readWebPage, type WebPage } from '../../src/http/page/web-page.ts';
import type { Embedded, Listing } from '../../src/http/schemas.ts';
import { StoreError } from '../../src/model/error.ts';
import { disk } from '../contract/backend.ts';
import { NAMES } from '../contract/names.ts';
import { assertFailure, escapePath, type HttpResponse, jsonOf, plant, send } from './client.ts';
import { served, startService } from './service.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** Names that would have another meaning if software did not treat them as text. */
const HOSTILE = [
  ...NAMES,
  '<!--',
  '<!--<script>',
  ']]>',
  '<noscript>',
  '&lt;script&gt;',
  '&#60;script&#62;',
  '${alert(1)}',
  'javascript:alert(1)',
  '\u2029',
  '\u202e\u2066evil',
  `"onclick="alert(1)`,
  '长'.repeat(80),
  'x'.repeat(200),
];

describe('The web UI', () => {
  const service = served(disk, {}, async () => {
    await plant(service.port, { 'photos/2026/cat.jpg': 'x', 'photos/a.txt': 'a', 'empty/': null });
    for (const name of HOSTILE) await plant(service.port, { [`hostile/${name}`]: '', [`folders/${name}/x`]: '' });
    await plant(service.port, { 'hostile/</script><script>alert(1)</script>': '', 'hostile/</noscript>': '' });
    await plant(service.port, { 'file/in/x.txt': 'x', 'file/y.txt': 'y', 'thumb/x.txt': 'x', '-/x.txt': 'x' });
  });

  const get = (path: string, headers: Record<string, string> = {}) => send(service.port, path, { headers });
  const open = (path: string, headers: Record<string, string> = {}) => get(path, { accept: BROWSER, ...headers });

  describe('is the response to a listing for clients that prefer HTML to JSON', () => {
    for (const path of ['/', '/photos/', '/photos', '/?prefix=photos/2026', '/photos/?limit=1&preview=a.txt']) {
      it(`${path} embeds the JSON response`, async () => {
        const [page, json] = [await open(path), await get(path)];
        assert.equal(page.status, 200);
        assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
        assert.equal(json.headers['content-type'], 'application/json; charset=utf-8');
        const { response, status, folder, readOnly, maxUploadSize } = embeddedIn(page);
        assert.deepEqual(response, jsonOf(json));
        assert.deepEqual([status, readOnly, maxUploadSize], [200, false, null]);
        assert.equal(folder, jsonOf(json)['prefix']);
      });
    }

    it('continues at a cursor, as JSON does', async () => {
      const { cursor } = jsonOf(await get('/photos?limit=1'));
      const path = `/photos?cursor=${encodeURIComponent(String(cursor))}`;
      assert.deepEqual(embeddedIn(await open(path)).response, jsonOf(await get(path)));
    });

    it('ignores ?preview= in JSON', async () =>
      assert.deepEqual(jsonOf(await get('/photos?preview=a.txt')), jsonOf(await get('/photos'))));

    it('sends Vary, and makes caches revalidate each time', async () => {
      for (const path of ['/', '/photos/', '/missing', '/photos?limit=0', '/100%']) {
        const [page, json] = [await open(path), await get(path)];
        assert.equal(page.headers.vary, 'Accept, Accept-Encoding', path);
        assert.equal(json.headers.vary, 'Accept', path);
        for (const { headers } of [page, json]) assert.equal(headers['cache-control'], 'private, no-cache', path);
      }
    });

    it('returns the headers of GET for HEAD', async () => {
      for (const path of ['/photos/', '/missing', '/100%']) {
        const whole = await open(path);
        const head = await send(service.port, path, { method: 'HEAD', headers: { accept: BROWSER } });
        const { date: _1, 'x-request-id': _2, ...expected } = whole.headers;
        const { date: _3, 'x-request-id': _4, ...headers } = head.headers;
        assert.deepEqual([head.status, head.body.length, headers], [whole.status, 0, expected], path);
      }
    });

    it('is compressed with a coding that the client accepts', async () => {
      const plain = (await open('/photos/')).body.toString();
      for (const [accepted, coding, unpack] of [
        ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
        ['gzip', 'gzip', gunzipSync],
      ] as const) {
        const { headers, body } = await open('/photos/', { 'accept-encoding': accepted });
        assert.equal(headers['content-encoding'], coding);
        assert.equal(unpack(body).toString(), plain);
      }
      assert.equal((await open('/photos/')).headers['content-encoding'], undefined);
    });

    it('embeds whether changes are allowed, and what the service keeps', async () => {
      const strict = await startService(disk, {
        readOnly: true,
        maxUploadSize: 1234,
        trash: { days: 7 },
        keepsVersions: false,
      });
      try {
        const page = await send(strict.port, '/', { headers: { accept: BROWSER } });
        const { readOnly, maxUploadSize, trash, keepsVersions, links, dav } = embeddedIn(page);
        assert.deepEqual(
          [readOnly, maxUploadSize, trash, keepsVersions, links, dav],
          [true, 1234, { days: 7 }, false, false, null],
        );
      } finally {
        await strict.stop();
      }
    });
  });

  describe('shows failures with their status', () => {
    for (const [path, status, folder, error] of [
      ['/missing', 404, 'missing/', /"missing\/" does not exist/],
      ['/photos/a.txt', 404, 'photos/a.txt/', /does not exist/],
      ['/?prefix=missing/deep', 404, 'missing/deep/', /does not exist/],
      ['/photos//x', 400, '', /empty segment/],
      ['/photos?limit=0', 400, 'photos/', /limit/],
      ['/photos?prefix=other', 400, '', /Send only one of them/],
      ['/?prefix=%ff', 400, '', /UTF-8/],
      ['/?prefix=a&prefix=b', 400, '', /prefix/],
      ['/100%', 400, '', /UTF-8/],
      ['/%ff/x/', 400, '', /UTF-8/],
    ] as const) {
      it(`${path} is a ${status}`, async () => {
        const page = await open(path);
        const embedded = embeddedIn(page);
        assert.deepEqual([page.status, embedded.status, embedded.folder], [status, status, folder]);
        assert.equal(new URL(`${embedded.base}-/assets/`, `http://host${path}`).pathname, '/-/assets/');
        assert.match(String(embedded.response['error']), error);
        assert.equal(embedded.response['success'], false);
        assertFailure(await get(path), status, error);
      });
    }

    for (const [status, error] of [
      [503, new StoreError('unavailable', 'The store is unreachable.', { retryAfter: 7 })],
      [500, new Error('a secret')],
    ] as const) {
      it(`a store that fails is a ${status}`, async () => {
        const broken = await startService(disk, {
          wrap: (store) => ({
            ...store,
            async list() {
              throw error;
            },
          }),
        });
        try {
          const page = await send(broken.port, '/photos/', { headers: { accept: BROWSER } });
          assert.equal(page.status, status);
          assert.equal(page.headers['retry-after'], status === 503 ? '7' : undefined);
          assert.equal(embeddedIn(page).status, status);
          assert.equal(embeddedIn(page).folder, 'photos/');
          assert.doesNotMatch(page.body.toString(), /secret/);
        } finally {
          await broken.stop();
        }
      });
    }

    it('only for listings: all other failures are JSON', async () => {
      assertFailure(await open('/-/nothing'), 404, /no route/);
      assertFailure(await open('/file/missing'), 404, /does not exist/);
      assertFailure(await open('/file/100%'), 400, /UTF-8/);
      assertFailure(await open('/-/100%'), 400, /UTF-8/);
      assertFailure(await send(service.port, '/', { method: 'PUT', headers: { accept: BROWSER } }), 405, /PUT/);
      assertFailure(await send(service.port, '/100%', { method: 'POST', headers: { accept: BROWSER } }), 400, /UTF-8/);
    });
  });

  describe('works below any path of a proxy', () => {
    for (const path of [
      '/',
      '/photos',
      '/photos/',
      '/photos/2026',
      '/photos/2026/',
      '/photos%2F2026/',
      '/photos/?prefix=photos',
      '/?prefix=file/',
      '/?prefix=file/in/',
      '/photos/?limit=1',
      '/hostile',
      '/folders/',
      '/missing/deep/',
      '/100%/x',
    ]) {
      it(`${path} has only relative URLs`, async () => {
        const html = (await open(path)).body.toString();
        for (const root of ['/', '/below/a/']) {
          const requested = `http://host${root.slice(0, -1)}${path}`;
          assert.equal(new URL(embeddedIn(html).base, requested).pathname, root);
          const urls = [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, url = '']) => decodeText(url));
          assert.ok(urls.length >= 2);
          for (const url of urls) {
            assert.match(url, /^\.{1,2}\//);
            assert.ok(new URL(url, requested).href.startsWith(`http://host${root}`), url);
          }
        }
      });
    }
  });

  it('escapes names', async () => {
    for (const folder of ['hostile', 'hostile/<', 'hostile/</script><script>alert(1)<', 'folders']) {
      const url = `/${escapePath(folder)}`;
      const html = (await open(url)).body.toString();
      assert.deepEqual(embeddedIn(html).response, jsonOf(await get(url)));
      // All markup is Holdall's own: the rest has neither tags nor comments, and no quote ends an attribute.
      const elements = [...html.matchAll(/<[^>]*>?/g)].map(([tag]) => tag);
      for (const tag of elements) assert.match(tag, OUR_TAGS);
      assert.equal(elements.filter((tag) => tag === '</noscript>').length, 1);
      assert.doesNotMatch(jsonIn(html), /[<\u2028\u2029]/);
    }
  });

  describe('without scripts', () => {
    it('is a list of links to the entries', async () => {
      for (const folder of ['', 'hostile', 'folders', 'photos', 'file', 'thumb', '-']) {
        const requested = `/?prefix=${encodeURIComponent(folder)}`;
        const { entries } = jsonOf(await get(requested)) as { entries: { type: string; name: string; path: string }[] };
        const links = linksIn(await open(requested));
        assert.deepEqual(
          links.map(({ text }) => text),
          entries.map(({ type, name }) => (type === 'folder' ? `${name}/` : name)),
        );
        for (const [index, { type, path }] of entries.entries()) {
          const { pathname, search } = new URL(links[index]?.url ?? '', `http://host${requested}`);
          const response = await get(pathname + search);
          assert.equal(response.status, 200, path);
          if (type === 'folder') assert.equal(jsonOf(response)['prefix'], path);
        }
      }
    });

    it('links to the next page', async () => {
      for (const requested of [
        '/photos?limit=1',
        '/?prefix=photos&limit=1',
        '/?limit=1',
        '/?prefix=hostile&limit=3',
        '/?prefix=file&limit=1',
      ]) {
        const next = linksIn(await open(requested)).at(-1);
        assert.equal(next?.text, 'More');
        const { pathname, search } = new URL(next.url, `http://host${requested}`);
        const { cursor, prefix } = jsonOf(await get(requested));
        const page = embeddedIn(await open(pathname + search));
        const path = `/?prefix=${encodeURIComponent(String(prefix))}&cursor=${encodeURIComponent(String(cursor))}`;
        assert.deepEqual(page.response, jsonOf(await get(path)));
      }
    });

    it('shows the error', async () =>
      assert.match((await open('/miss<ing')).body.toString(), /The folder &#34;miss&#60;/));
  });

  describe('has a Content-Security-Policy', () => {
    it('without exceptions, on every status', async () => {
      for (const path of ['/', '/missing', '/photos?limit=0', '/100%']) {
        const { headers } = await open(path);
        const directives = directivesOf(headers);
        assert.deepEqual(
          [directives['default-src'], directives['script-src'], directives['style-src']],
          ["'none'", "'self'", "'self'"],
        );
        assert.deepEqual([directives['base-uri'], directives['frame-ancestors']], ["'none'", "'none'"]);
        assert.equal(directives['require-trusted-types-for'], "'script'");
        assert.equal(directives['trusted-types'], 'preview-worker service-worker');
        assert.deepEqual([directives['worker-src'], directives['manifest-src']], ["'self'", "'self'"]);
        assert.doesNotMatch(String(headers['content-security-policy']), /unsafe-|\*|data:|https?:/);
        assert.equal(headers['x-content-type-options'], 'nosniff');
        assert.equal(headers['referrer-policy'], 'same-origin');
        assert.match(String(headers['permissions-policy']), /(^|, )camera=\(\)(, |$)/);
        assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
      }
    });

    it('that allows file contents from the origins of the store', async () => {
      const origins = ['https://files.example.org', 'http://127.0.0.1:9000', 'https://my_bucket.example.org:8443'];
      const hostile = ["https://x;script-src'unsafe-inline'", 'https://x,y', 'https://x y', 'https://x\r\nx: y', '*'];
      const elsewhere = await startService(disk, { contentOrigins: [...origins, ...hostile, 'http://[::1]:9000'] });
      try {
        const { headers } = await send(elsewhere.port, '/', { headers: { accept: BROWSER } });
        const directives = directivesOf(headers);
        const contents = ["'self'", ...origins].join(' ');
        assert.deepEqual(
          ['img-src', 'media-src', 'connect-src', 'frame-src'].map((name) => directives[name]),
          [`${contents} blob:`, `${contents} blob:`, contents, contents],
        );
        assert.deepEqual(Object.keys(directives), Object.keys(directivesOf((await open('/')).headers)));
        assert.equal(directives['script-src'], "'self'");
      } finally {
        await elsewhere.stop();
      }
    });

    it('that allows PDFs in frames', async () => {
      await plant(service.port, { 'papers/a.pdf': '%PDF-1.4' });
      const { headers } = await get('/file/papers/a.pdf');
      assert.equal(headers['content-type'], 'application/pdf');
      assert.equal(headers['x-frame-options'], undefined);
      assert.doesNotMatch(String(headers['content-security-policy']), /sandbox|frame-ancestors 'none'/);
      assert.equal(headers['content-disposition'], undefined);
    });
  });
});

describe('The assets of the web UI', () => {
  let names: readonly string[];
  const service = served(disk, {}, async () => {
    const html = await send(service.port, '/', { headers: { accept: BROWSER } });
    names = [...html.body.toString().matchAll(/ (?:href|src)="\.\/-\/assets\/([^"]*)"/g)].map(([, name = '']) => name);
  });

  const get = (name: string, headers: Record<string, string> = {}, method = 'GET') =>
    send(service.port, `/-/assets/${name}`, { headers, method });

  it('are served with an immutable cache lifetime and their media type', async () => {
    assert.ok(names.some((name) => name.endsWith('.js')));
    for (const name of names) {
      const { status, headers, body } = await get(name);
      assert.equal(status, 200, name);
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.match(headers['content-type'] ?? '', TYPES[name.slice(name.lastIndexOf('.'))] ?? /^$/, name);
      assert.match(String(headers['x-request-id']), /./);
      const head = await get(name, {}, 'HEAD');
      assert.deepEqual([head.status, head.headers['content-length']], [200, String(body.length)]);
      assert.equal((await get(name, { 'if-none-match': headers.etag ?? '' })).status, 304);
    }
  });

  it('are precompressed', async () => {
    const script = names.find((name) => name.startsWith('main-')) ?? '';
    const plain = await get(script);
    for (const [coding, unpack] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const { headers, body } = await get(script, { 'accept-encoding': coding });
      assert.equal(headers['content-encoding'], coding);
      assert.equal(headers['content-type'], plain.headers['content-type']);
      assert.match(headers.vary ?? '', /accept-encoding/i);
      assert.equal(headers['cache-control'], plain.headers['cache-control']);
      assert.ok(body.length < plain.body.length);
      assert.deepEqual(unpack(body), plain.body);
    }
  });

  it('are exactly the files of the build', async () => {
    for (const name of await readdir(join(BUILT_PAGE, 'assets')))
      assert.equal((await get(name, {}, 'HEAD')).status, 200, name);
    for (const name of [
      '',
      'none.js',
      'none.js.br',
      '../.vite/manifest.json',
      '..%2f.vite%2fmanifest.json',
      '%2e%2e/.vite/manifest.json',
      '%2e%2e%5c.vite%5cmanifest.json',
      '../../../package.json',
      '/etc/passwd',
      '%2fetc%2fpasswd',
      '%00',
      './x',
    ]) {
      for (const coding of ['identity', 'br']) {
        assertFailure(await get(name, { 'accept-encoding': coding, accept: BROWSER }), 404, /./);
      }
    }
    assertFailure(await get(names[0] ?? '', {}, 'POST'), 405, /GET, HEAD/);
  });
});

describe('The document', () => {
  const page: WebPage = {
    assets: '/assets',
    script: 'main.js',
    imports: ['shared.js'],
    styles: ['main.css', 'shared.css'],
    early: 'early.js',
    language: 'language.js',
    icon: 'mark.svg',
    appIcons: {
      'icon-192': '192.png',
      'icon-512': '512.png',
      'maskable-512': 'maskable.png',
      'apple-touch-180': 'touch.png',
      'monochrome-192': 'monochrome.png',
    },
    offline: { script: 'offline.js', imports: [], styles: [] },
    serviceWorker: '',
  };
  const response: Listing = { success: true, prefix: 'a/', entries: [] };
  const embedded: Embedded = {
    base: '../',
    folder: 'a/',
    status: 200,
    response,
    readOnly: false,
    stills: [],
    maxUploadSize: null,
    uploadPartBytes: null,
    trash: { days: 30 },
    keepsVersions: true,
    links: false,
    dav: null,
    access: null,
  };
  const html = renderDocument(page, embedded, { isInstallable: true });

  it('loads the built files, first those needed before the first paint', () => {
    const head = html.slice(0, html.indexOf('</head>'));
    const places = [
      '<title>a – Holdall</title>',
      '<link rel="icon" type="image/svg+xml" href="../-/assets/mark.svg">',
      '<script src="../-/assets/early.js"></script>',
      '<link rel="stylesheet" href="../-/assets/main.css">',
      '<link rel="stylesheet" href="../-/assets/shared.css">',
      '<link rel="modulepreload" href="../-/assets/shared.js">',
      '<script type="module" async src="../-/assets/language.js"></script>',
      '<script type="module" src="../-/assets/main.js"></script>',
    ].map((element) => head.indexOf(element));
    assert.ok(
      places.every((place) => place > 0),
      String(places),
    );
    assert.deepEqual(
      places,
      places.toSorted((left, right) => left - right),
    );
  });
});

describe('readWebPage', () => {
  it('finds the static imports of the entry, and not the dynamic ones', async () => {
    const page = await readBuilt({
      'src/main.tsx': {
        file: 'assets/main.js',
        isEntry: true,
        imports: ['_shared.js'],
        dynamicImports: ['src/late.tsx'],
        css: ['assets/main.css'],
      },
      '_shared.js': { file: 'assets/shared.js', imports: ['_deep.js', 'src/main.tsx'], css: ['assets/shared.css'] },
      '_deep.js': { file: 'assets/deep.js', css: ['assets/shared.css'] },
      'src/late.tsx': { file: 'assets/late.js', imports: ['_shared.js'], css: ['assets/late.css'] },
      'src/early.ts': { file: 'assets/early.js', isEntry: true },
      'src/first-language.ts': { file: 'assets/language.js', isEntry: true, imports: ['_shared.js'] },
      'src/ui/mark.svg': { file: 'assets/mark.svg' },
      ...OFFLINE_AND_ICONS,
    });
    const { assets: _, ...names } = page;
    assert.deepEqual(names, {
      script: 'main.js',
      imports: ['shared.js', 'deep.js'],
      styles: ['main.css', 'shared.css'],
      early: 'early.js',
      language: 'language.js',
      icon: 'mark.svg',
      appIcons: {
        'icon-192': 'icon-192.png',
        'icon-512': 'icon-512.png',
        'maskable-512': 'maskable-512.png',
        'apple-touch-180': 'apple-touch-180.png',
        'monochrome-192': 'monochrome-192.png',
      },
      offline: { script: 'offline.js', imports: ['deep.js'], styles: ['main.css', 'shared.css', 'offline.css'] },
      serviceWorker: 'worker();',
    });
  });

  for (const [what, manifest] of [
    ['has no offline page and no icons', { 'src/main.tsx': { file: 'assets/main.js' } }],
    ['has no entry', { 'src/other.tsx': { file: 'assets/other.js' } }],
    ['is of another shape', { 'src/main.tsx': { file: 1 } }],
    ['names files elsewhere', { 'src/main.tsx': { file: '../main.js' } }],
    ['is no object', null],
  ] as const) {
    it(`rejects a build that ${what}, with the remedy`, async () =>
      assert.rejects(readBuilt(manifest), (error) => {
        assert.ok(error instanceof PageNotBuilt);
        assert.match(error.message, /^[^\n]*. Run "npm run build"\.$/);
        return true;
      }));
  }
});

describe('The build', () => {
  it('makes its folder as readable as the files in it', async () => {
    const [whole, assets] = await Promise.all([stat(BUILT_PAGE), stat(join(BUILT_PAGE, 'assets'))]);
    assert.equal(whole.mode.toString(8), assets.mode.toString(8), 'Build it again: npm run build');
  });

  it('reports an unreadable build differently from a missing one', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'holdall-test-page-'));
    t.after(() => rm(folder, { recursive: true }));
    await assert.rejects(readWebPage(folder), /The web UI is not built/);
    await mkdir(join(folder, '.vite'), { mode: 0 });
    const readsAll = process.geteuid?.() === 0;
    // Runs as another user, because root can read every file.
    if (readsAll) process.seteuid?.(65534);
    try {
      await assert.rejects(readWebPage(folder), /The user of the service can't read the web UI \(.*\)\. Grant/);
    } finally {
      if (readsAll) process.seteuid?.(0);
    }
  });
});

/** The entries of the offline page and the icons in a manifest. */
const OFFLINE_AND_ICONS = {
  'src/app/offline.ts': { file: 'assets/offline.js', imports: ['_deep.js'], css: ['assets/offline.css'] },
  ...Object.fromEntries(
    ['icon-192', 'icon-512', 'maskable-512', 'apple-touch-180', 'monochrome-192'].map((name) => [
      `src/app-icons/${name}.png`,
      { file: `assets/${name}.png` },
    ]),
  ),
};

async function readBuilt(manifest: unknown): Promise<WebPage> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-test-page-'));
  try {
    await mkdir(join(folder, '.vite'));
    await writeFile(join(folder, '.vite/manifest.json'), JSON.stringify(manifest));
    await writeFile(join(folder, 'service-worker.js'), 'worker();');
    return await readWebPage(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const TYPES: Readonly<Record<string, RegExp>> = {
  '.js': /^(application|text)\/javascript; charset=utf-8$/,
  '.css': /^text\/css; charset=utf-8$/,
  '.svg': /^image\/svg\+xml/,
  '.png': /^image\/png$/,
};

/** All tags that the document may contain. */
const OUR_TAGS =
  /^<(!doctype html|html lang="en"|meta [\w"=,;:()# -]+|link rel="[a-z-]+"( type="image\/svg\+xml")? href="[\w./-]+"( crossorigin="use-credentials")?|script( type="module"( async)?)? src="[\w./-]+"|div id="page"|script type="application\/json" id="embedded"|a href="[^"<>']*"|\/?(title|head|body|noscript|p|ul|li|bdi|a)|\/(html|div|script))>$/;

interface EmbeddedResponse {
  readonly base: string;
  readonly folder: string;
  readonly status: number;
  readonly response: Record<string, unknown>;
  readonly readOnly: boolean;
  readonly maxUploadSize: number | null;
  readonly trash: { readonly days: number | null } | null;
  readonly keepsVersions: boolean;
  readonly links: boolean;
  readonly dav: { readonly isServed: boolean; readonly root: string | null } | null;
}

function embeddedIn(page: HttpResponse | string): EmbeddedResponse {
  return JSON.parse(jsonIn(typeof page === 'string' ? page : page.body.toString()));
}

/** Returns the embedded text as a browser finds it: up to the first end of a script. */
function jsonIn(html: string): string {
  const [, json = ''] = /<script type="application\/json" id="embedded">(.*?)<\/script/s.exec(html) ?? [];
  return json;
}

/** Returns the links of the list for users without scripts. */
function linksIn(page: HttpResponse): { url: string; text: string }[] {
  const [, list = ''] = /<noscript>(.*?)<\/noscript/s.exec(page.body.toString()) ?? [];
  return [...list.matchAll(/<a href="([^"]*)">(.*?)<\/a>/gs)].map(([, url = '', text = '']) => ({
    url: decodeText(url),
    text: decodeText(text.replace(/<\/?bdi>/g, '')),
  }));
}

const decodeText = (html: string) => html.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

function directivesOf(headers: HttpResponse['headers']): Record<string, string> {
  const policy = String(headers['content-security-policy']);
  return Object.fromEntries(
    policy.split('; ').map((directive) => {
      const [name = '', ...values] = directive.split(' ');
      return [name, values.join(' ')];
    }),
  );
}
