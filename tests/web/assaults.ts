/*
 * Attacks of a hostile page on a service at another origin, with the credentials of the user who opened the page. The
 * functions run in the page, so they can use only their arguments.
 */

/** Sends requests by scripts. Returns everything that it could read, with the requests. */
export async function fetchAll(service: string): Promise<string[]> {
  const json = (body: object) => JSON.stringify(body);
  const form = () => {
    const fields = new FormData();
    fields.set('prefix', '');
    fields.set('file', new File(['planted'], 'planted-by-fetch.txt'));
    return fields;
  };
  const copy = json({ source: 'secret.txt', destination: 'copied.txt', is_folder: false });
  const asText = { 'content-type': 'text/plain' };
  const asJson = { 'content-type': 'application/json' };
  const simple: readonly (readonly [path: string, init: RequestInit])[] = [
    ['file/secret.txt', {}],
    ['', {}],
    ['?prefix=folder', {}],
    ['-/session', {}],
    ['thumb/image.png', {}],
    ['file/secret.txt', { method: 'HEAD' }],
    ['delete/victim.txt', { method: 'POST' }],
    ['delete_folder/folder', { method: 'POST', body: 'x' }],
    ['copy', { method: 'POST', headers: asText, body: copy }],
    ['move', { method: 'POST', body: new Blob([copy]) }],
    ['create_folder', { method: 'POST', headers: asText, body: json({ path: 'planted' }) }],
    ['rename/victim.txt', { method: 'POST', headers: asText, body: json({ newName: 'planted' }) }],
    ['upload', { method: 'POST', body: form() }],
    ['-/session/end', { method: 'POST' }],
  ];
  const others: typeof simple = [
    ['delete/victim.txt', { method: 'DELETE' }],
    ['delete_folder/folder', { method: 'DELETE' }],
    ['copy', { method: 'POST', headers: asJson, body: copy }],
    ['create_folder', { method: 'POST', headers: asJson, body: json({ path: 'planted' }) }],
    ['-/session', { method: 'DELETE' }],
    ['file/secret.txt', { headers: { range: 'bytes=0-5', 'x-odd': '1' } }],
  ];
  const attempts = [
    ...simple.flatMap(([path, init]) =>
      (['cors', 'no-cors'] as const).map((mode) => [path, { ...init, mode }] as const),
    ),
    ...others.map(([path, init]) => [path, { ...init, mode: 'cors' }] as const),
  ];
  const read = await Promise.all(
    attempts.map(async ([path, init]) => {
      try {
        const response = await fetch(service + path, {
          ...init,
          credentials: 'include',
          keepalive: init.method !== 'HEAD',
        });
        return `${init.method ?? 'GET'} ${path}: ${response.status} ${await response.text()} ${[...response.headers].join()}`;
      } catch {
        return '';
      }
    }),
  );
  navigator.sendBeacon(`${service}delete/victim.txt`);
  navigator.sendBeacon(`${service}copy`, copy);
  navigator.sendBeacon(`${service}upload`, form());
  return read.filter((text) => text !== '' && !/: 0 +$/.test(text));
}

/** Embeds files of the service as images, scripts, styles and frames. Returns everything that it could read of them. */
export async function embedAll(service: string): Promise<string[]> {
  const sources: readonly (readonly [tag: string, attribute: string, path: string])[] = [
    ['img', 'src', 'file/image.png'],
    ['img', 'src', 'thumb/image.png'],
    ['script', 'src', 'file/secret.js'],
    ['link', 'href', 'file/secret.css'],
    ['iframe', 'src', ''],
    ['iframe', 'src', 'file/secret.txt'],
    ['iframe', 'src', '-/docs/static/index.html'],
    ['object', 'data', 'file/secret.txt'],
    ['video', 'src', 'file/secret.txt'],
  ];
  const seen = sources.map(async ([tag, attribute, path]) => {
    const element = document.createElement(tag);
    if (element instanceof HTMLLinkElement) element.rel = 'stylesheet';
    const over = new Promise((resolve) => {
      for (const event of ['load', 'error', 'loadedmetadata']) element.addEventListener(event, resolve);
    });
    element.setAttribute(attribute, service + path);
    document.body.append(element);
    await over;
    const what = `${tag} ${path}: `;
    if (element instanceof HTMLImageElement && element.naturalWidth > 0) return `${what}${element.naturalWidth} pixels`;
    if (element instanceof HTMLVideoElement && element.readyState > 0) return `${what}a video`;
    if (!(element instanceof HTMLIFrameElement)) return '';
    try {
      return element.contentDocument?.body.innerText ? what + element.contentDocument.body.innerText : '';
    } catch {
      return '';
    }
  });
  const stolen = ['stolen', 'secretOfAScript']
    .map((name) => Reflect.get(window, name))
    .filter((value) => value !== undefined);
  return [...(await Promise.all(seen)), ...stolen.map(String)].filter((text) => text !== '');
}

/** Submits forms into frames or new windows. */
export function submitAll(service: string, target: '_blank' | 'frame'): void {
  const submit = (path: string, enctype: string, fields: Readonly<Record<string, string | File>>) => {
    const name = `frame ${Math.random()}`;
    if (target === 'frame') document.body.append(Object.assign(document.createElement('iframe'), { name }));
    const form = Object.assign(document.createElement('form'), {
      method: 'POST',
      action: service + path,
      enctype,
      target: target === 'frame' ? name : '_blank',
    });
    for (const [field, value] of Object.entries(fields)) {
      const input = Object.assign(document.createElement('input'), { name: field });
      if (typeof value === 'string') input.value = value;
      else {
        const transfer = new DataTransfer();
        transfer.items.add(value);
        input.type = 'file';
        input.files = transfer.files;
      }
      form.append(input);
    }
    document.body.append(form);
    form.submit();
  };
  // The browser sends `{"path": "planted", "x": "=x"}`.
  submit('create_folder', 'text/plain', { '{"path": "planted", "x": "': 'x"}' });
  submit('copy', 'text/plain', {
    '{"source": "secret.txt", "destination": "copied", "is_folder": false, "x": "': 'x"}',
  });
  submit('delete/victim.txt', 'application/x-www-form-urlencoded', {});
  submit('delete_folder/folder', 'application/x-www-form-urlencoded', { x: 'x' });
  submit('upload', 'multipart/form-data', { prefix: '', file: new File(['planted'], 'planted-by-a-form.txt') });
  submit('-/session/end', 'text/plain', {});
}

/**
 * Opens the service in a window and reads its document, until the browser denies that: from then on, the window shows
 * another origin. Returns everything that it could read.
 */
export async function openAndRead(service: string): Promise<string[]> {
  const seen: string[] = [];
  for (const path of ['', 'file/secret.txt']) {
    const opened = window.open(service + path);
    if (!opened) throw new Error('The browser opened no window.');
    for (let isDenied = false; !isDenied; ) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      try {
        const text = opened.document.documentElement.outerHTML;
        if (opened.location.href !== 'about:blank') seen.push(`${path}: ${text}`);
      } catch {
        isDenied = true;
      }
    }
    opened.close();
  }
  return seen;
}
