import type { ServiceSettings } from './settings.js';

/** The settings as they may be printed: secrets as `***`. */
export function maskedSettings(settings: ServiceSettings): ServiceSettings {
  const { databaseUrl, keyPepper, stripeSecretKey, stripeWebhookSecret } = settings;
  return {
    ...settings,
    ...(databaseUrl === undefined ? {} : { databaseUrl: databaseUrl.replace(/:[^:@/]*@/, ':***@') }),
    ...(keyPepper === undefined ? {} : { keyPepper: '***' }),
    ...(stripeSecretKey === undefined ? {} : { stripeSecretKey: '***' }),
    ...(stripeWebhookSecret === undefined ? {} : { stripeWebhookSecret: '***' }),
  };
}
