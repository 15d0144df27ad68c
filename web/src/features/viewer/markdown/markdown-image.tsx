import { Icon } from '../../../ui/icon.tsx';
import { usePage } from '../../page.ts';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import { resolveDestination } from './resolve-path.ts';

interface MarkdownImageProps {
  folder: string;
  src: string | undefined;
  alt: string | undefined;
}

/**
 * An image of a text: shown where it is a file of the service. One from elsewhere is a link, as loading it would tell
 * somebody else who reads this.
 */
export function MarkdownImage({ folder, src, alt = '' }: MarkdownImageProps) {
  const { urls } = usePage();
  const { text } = useFullLanguage();
  const destination = src === undefined ? undefined : resolveDestination(folder, src);
  if (destination?.kind === 'path') {
    return <img src={urls.file(destination.path)} alt={alt} loading="lazy" draggable={false} />;
  }
  const description = text.previews.externalImage({
    description: alt || (destination?.kind === 'elsewhere' ? hostOf(destination.url) : '…'),
  });
  if (destination?.kind !== 'elsewhere') return <span>{description}</span>;
  return (
    <a class="external-image" href={destination.url} target="_blank" rel="noopener noreferrer">
      <Icon name="image" />
      {description}
    </a>
  );
}

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : url);
