import type { ComponentChildren, ComponentType } from 'preact';
import type { VisitKind } from '../../model/visit/visit.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { useVisit } from '../models.ts';
import { Card } from '../sign-in/card.tsx';
import { PasswordField, usePasswordForm } from './password.tsx';

export interface VisitPageProps {
  /** The page of a folder. */
  readonly WholePage: ComponentType;
}

/** Loads the page of a share link. Rejects if its code can't be loaded. */
export async function loadVisitPage(kind: VisitKind): Promise<ComponentType<VisitPageProps>> {
  switch (kind) {
    case 'folder':
      return FolderPage;
    case 'file': {
      const { FilePage } = await import('./file-page.tsx');
      return () => (
        <UnlessEnded>
          <FilePage />
        </UnlessEnded>
      );
    }
    case 'request':
      return (await import('./request-page.tsx')).RequestPage;
    case 'password':
      return PasswordPage;
    case 'not-found':
      return UnavailablePage;
    case 'failed':
      return FailedPage;
  }
}

function FolderPage({ WholePage }: VisitPageProps) {
  return (
    <UnlessEnded>
      <WholePage />
    </UnlessEnded>
  );
}

/** Shows that the link is unavailable as soon as it has expired or was revoked. */
function UnlessEnded({ children }: { children: ComponentChildren }) {
  return useVisit()?.hasEnded.value ? <UnavailablePage /> : <>{children}</>;
}

function PasswordPage() {
  const { text } = useFullLanguage();
  const form = usePasswordForm(() => window.location.reload());
  return (
    <Card title={text.visit.passwordTitle}>
      <p class="why">{text.visit.passwordHint}</p>
      <form
        // If the browser submitted a GET form, the password would be in the URL.
        method="post"
        onSubmit={(event) => {
          event.preventDefault();
          form.submit();
        }}
      >
        <PasswordField form={form} />
        <Button kind="primary" type="submit">
          {form.isSending ? text.visit.checking : text.actions.open}
        </Button>
      </form>
    </Card>
  );
}

function UnavailablePage() {
  const { text } = useFullLanguage();
  return (
    <Card title={text.visit.unavailable}>
      <p class="why" role="alert">
        {text.visit.unavailableHint}
      </p>
    </Card>
  );
}

/** Shows why the link could not be opened, such as an overloaded service. */
function FailedPage() {
  const visit = useVisit();
  const { text, reasonOf } = useFullLanguage();
  return (
    <Card title={text.visit.openFailed}>
      <p class="why" role="alert">
        {visit?.problem && reasonOf(visit.problem)}
      </p>
      <Button kind="primary" icon="refresh" onClick={() => window.location.reload()}>
        {text.controls.retry}
      </Button>
    </Card>
  );
}
