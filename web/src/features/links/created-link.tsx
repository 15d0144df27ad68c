import type { CreatedLink as Created } from '../../platform/service/links.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { CopyOutcome, useCopying } from '../../ui/copy-button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useLoaded } from '../../ui/loading.ts';

/** The URL of a new link, as text and as a QR code. It can't be shown again. */
export function CreatedLink({ created: { url } }: { created: Created }) {
  const { text } = useFullLanguage();
  // Without the code, users still have the URL.
  const loaded = useLoaded(() => import('./qr-code.tsx'));
  return (
    <div class="created-link">
      <p class="once">
        <Icon name="lock" />
        {text.links.once}
      </p>
      <input
        class="text-field"
        type="text"
        dir="ltr"
        readOnly
        aria-label={text.details.link}
        value={url}
        onFocus={({ currentTarget }) => currentTarget.select()}
      />
      <div class="code">{loaded.state === 'ready' && <loaded.value.QrCode value={url} />}</div>
    </div>
  );
}

/** The main button of the dialog. It shows the outcome instead of its label for some seconds. */
export function CopyLinkButton({ url }: { url: string }) {
  const { text } = useFullLanguage();
  const { button, outcome, status, copyValue } = useCopying(url, 'link');
  const label = text.actions.copyLink;
  return (
    <span class="copy-link-button">
      <button ref={button} class="button primary" type="button" autofocus onClick={copyValue}>
        {status}
        <span>{outcome ?? label}</span>
      </button>
      <CopyOutcome outcome={outcome} />
    </span>
  );
}
