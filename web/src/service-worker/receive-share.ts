import { isTooLarge, type Share, storeShare } from '../platform/shares.ts';

/**
 * Stores what another app shares, and redirects to the page, which asks the user where to save it. Only a page of this
 * service can be the sender that the browser names: the system names none. A page of another site can hide its name by a
 * referrer policy, and workers see neither `Origin` nor `Sec-Fetch-Site`.
 */
export async function receiveShare(request: Request, root: string): Promise<Response> {
  const redirect = (shared: string) => Response.redirect(`${root}?shared=${shared}`, 303);
  if (/^https?:/.test(request.referrer) && !request.referrer.startsWith(root)) return redirect('none');
  try {
    const share = parseShare(await request.formData());
    if (isTooLarge(share)) return redirect('too-large');
    return redirect((await storeShare(root, share)) ? share.id : 'too-many');
  } catch (error) {
    return redirect(error instanceof DOMException && error.name === 'QuotaExceededError' ? 'too-large' : 'none');
  }
}

/** Parses the fields that the manifest names, see `src/http/page/app-manifest.ts`. */
function parseShare(form: FormData): Share {
  const textOf = (name: string) =>
    form
      .getAll(name)
      .filter((value) => typeof value === 'string')
      .join('\n');
  return {
    id: crypto.randomUUID(),
    receivedAt: Date.now(),
    // A form without files has one without a name.
    files: form
      .getAll('files')
      .filter((value) => typeof value !== 'string' && (value.name !== '' || value.size > 0)) as File[],
    title: textOf('title'),
    text: textOf('text'),
    url: textOf('url'),
  };
}
