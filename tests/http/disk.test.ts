import { disk } from '../contract/backend.ts';
import { contentOriginSuite } from './stores/content-origin.ts';
import { wireSuite } from './stores/wire.ts';

wireSuite(disk, { signsUrls: true });
contentOriginSuite(disk);
