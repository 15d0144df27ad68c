import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePart } from '../../../web/message-compiler.ts';
import { allowsPasswords, davUrl, uncPath, withScheme } from '../../../web/src/model/connect/address.ts';
import { type Connection, clientsFor, type Step, systemOf } from '../../../web/src/model/connect/clients.ts';
import english from '../../../web/src/platform/text/catalogues/en.json' with { type: 'json' };
import { bindMessages, createFormatter } from '../../../web/src/platform/text/messages.ts';
import type { ConnectText } from '../../../web/src/platform/text/text.ts';
import { withoutIsolates } from './languages.ts';

const { connect: text } = bindMessages(
  compilePart(english, 'connect'),
  createFormatter('en'),
) as unknown as ConnectText;

/** Returns the steps of a client. */
function stepsOf(id: string, connection: Connection): readonly Step[] {
  const { own, others } = clientsFor(undefined);
  const client = [...own, ...others].find((each) => each.id === id);
  assert.ok(client);
  return client.steps(connection, text.steps);
}

/** Returns what the user enters or runs. */
const codesOf = (id: string, connection: Connection) => stepsOf(id, connection).flatMap(({ code = [] }) => code);

describe('The address for WebDAV clients', () => {
  it('is below the root of the service, and escapes the names of folders', () => {
    assert.equal(davUrl('https://example.org/', '').href, 'https://example.org/-/dav/');
    assert.equal(
      davUrl('https://example.org/files/', "Ann's #1/50% Ü/").href,
      'https://example.org/files/-/dav/Ann%27s%20%231/50%25%20%C3%9C/',
    );
  });

  it('has the scheme of each file manager', () => {
    assert.equal(withScheme(davUrl('https://example.org/', 'a/'), 'dav'), 'davs://example.org/-/dav/a/');
    assert.equal(withScheme(davUrl('http://example.org:8080/', ''), 'webdav'), 'webdav://example.org:8080/-/dav/');
  });

  it('is a UNC path for Windows', () => {
    const pathOf = (root: string, folder = '') => uncPath(davUrl(root, folder));
    assert.equal(pathOf('https://example.org/'), String.raw`\\example.org@SSL\DavWWWRoot\-\dav`);
    assert.equal(
      pathOf('https://example.org:8443/x/', 'a b/ü/'),
      String.raw`\\example.org@SSL@8443\DavWWWRoot\x\-\dav\a b\ü`,
    );
    assert.equal(pathOf('http://127.0.0.1:8080/'), String.raw`\\127.0.0.1@8080\DavWWWRoot\-\dav`);
    assert.equal(pathOf('https://[fd00::1]/'), String.raw`\\fd00--1.ipv6-literal.net@SSL\DavWWWRoot\-\dav`);
  });

  it('allows passwords with HTTPS, and on this machine', () => {
    const allowed = (root: string) => allowsPasswords(davUrl(root, ''));
    for (const root of ['https://example.org/', 'http://localhost:8080/', 'http://127.0.0.1/', 'http://[::1]:8080/']) {
      assert.ok(allowed(root), root);
    }
    for (const root of ['http://example.org/', 'http://127.example.org/', 'http://192.168.0.2:8080/']) {
      assert.ok(!allowed(root), root);
    }
  });
});

describe('The clients', () => {
  it('are first those for the system of the browser', () => {
    const systemFor = (userAgent: string, maxTouchPoints = 0) => systemOf({ userAgent, maxTouchPoints });
    assert.equal(systemFor('Mozilla/5.0 (Windows NT 10.0; Win64; x64)'), 'windows');
    assert.equal(systemFor('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)'), 'macos');
    assert.equal(systemFor('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)', 5), 'ios', 'an iPad');
    assert.equal(systemFor('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)', 5), 'ios');
    assert.equal(systemFor('Mozilla/5.0 (Linux; Android 15)', 5), 'android');
    assert.equal(systemFor('Mozilla/5.0 (X11; Linux x86_64)'), 'linux');
    assert.equal(systemFor('Mozilla/5.0 (PlayStation 5)'), undefined);
    const all = clientsFor(undefined).others.length;
    for (const [system, first] of [
      ['macos', 'finder'],
      ['windows', 'explorer'],
      ['linux', 'gnome'],
      ['ios', 'ios'],
      ['android', 'android'],
    ] as const) {
      const { own, others } = clientsFor(system);
      assert.equal(own[0]?.id, first);
      assert.equal(own.length + others.length, all);
    }
  });

  it('get the address in the form that each needs', () => {
    const connection = { url: davUrl('https://example.org:8443/', 'Team/'), username: 'ann' };
    assert.deepEqual(codesOf('finder', connection), ['https://example.org:8443/-/dav/Team/']);
    assert.deepEqual(codesOf('gnome', connection), ['davs://example.org:8443/-/dav/Team/']);
    assert.deepEqual(codesOf('dolphin', connection), ['webdavs://example.org:8443/-/dav/Team/']);
    assert.deepEqual(codesOf('cyberduck', connection), ['example.org', '/-/dav/Team/']);
    assert.match(withoutIsolates(stepsOf('cyberduck', connection)[0]?.text ?? ''), /WebDAV \(HTTPS\).*port 8443/);
    assert.deepEqual(codesOf('zotero', connection), ['example.org:8443/-/dav/Team/']);
    assert.deepEqual(codesOf('keepass', connection), ['https://example.org:8443/-/dav/Team/Passwords.kdbx']);
    assert.deepEqual(codesOf('explorer', connection).slice(0, 2), [
      'https://example.org:8443/-/dav/Team/',
      String.raw`\\example.org@SSL@8443\DavWWWRoot\-\dav\Team`,
    ]);
  });

  it('get a username that is quoted for the shell', () => {
    const url = davUrl('https://example.org/', '');
    const [plain = ''] = codesOf('rclone', { url, username: 'ann@example.org' });
    assert.match(
      plain,
      / url='https:\/\/example\.org\/-\/dav\/' vendor=nextcloud .* user=ann@example\.org pass=APP_TOKEN --obscure$/,
    );
    const [hostile = ''] = codesOf('rclone', { url, username: `o'neil $(rm)` });
    assert.ok(hostile.includes(String.raw` user='o'\''neil $(rm)' `), hostile);
    const [anonymous = ''] = codesOf('rclone', { url, username: null });
    assert.doesNotMatch(anonymous, /user=|pass=/);
  });

  it('connect without credentials to a service without users', () => {
    const url = davUrl('https://example.org/', '');
    const finder = (username: string | null) => stepsOf('finder', { url, username }).map((step) => step.text);
    assert.ok(finder('ann').includes(text.steps.signIn));
    assert.ok(finder(null).includes(text.steps.signInNone));
  });
});
